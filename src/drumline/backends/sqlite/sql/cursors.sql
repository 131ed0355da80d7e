-- cursors: where every consumer stands, how many rows are left to it, and when the first of them was written.
SELECT
    c.consumer,
    c.position,
    c.moved_at,
    coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0) - c.position,
    (SELECT at FROM outbox WHERE seq > c.position ORDER BY seq LIMIT 1)
FROM event_cursor AS c
ORDER BY c.consumer
