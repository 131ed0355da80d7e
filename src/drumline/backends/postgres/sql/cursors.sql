-- cursors: where every consumer stands, how many rows are left to it, and when the first of them was written.
WITH unsequenced AS MATERIALIZED (
    SELECT count(*) AS count, (array_agg(o.at ORDER BY o.seq))[1] AS at
    FROM (
        SELECT first.seq, first.at FROM drumline.outbox AS first
        WHERE first.position IS NULL
        ORDER BY first.seq
        LIMIT 100000
    ) AS o
)

SELECT
    c.consumer, c.position, c.moved_at,
    log.position - c.position + unsequenced.count AS behind,
    coalesce(
        (SELECT o.at FROM drumline.outbox AS o WHERE o.position > c.position ORDER BY o.position LIMIT 1),
        unsequenced.at
    ) AS oldest_at
FROM drumline.event_cursor AS c, drumline.event_log AS log, unsequenced
ORDER BY c.consumer
