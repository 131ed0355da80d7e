-- prune: when the earliest was written of the first :limit rows that some consumer has not passed on.
-- GIVES that time, NULL if there is none or no consumer, and how many rows were looked at
SELECT min(unread.at) AS at, count(*) AS count
FROM (
    (
        SELECT o.at FROM drumline.outbox AS o
        WHERE o.position > (SELECT min(c.position) FROM drumline.event_cursor AS c)
        ORDER BY o.position
        LIMIT :limit::int4
    )
    UNION ALL
    (
        SELECT o.at FROM drumline.outbox AS o
        WHERE o.position IS NULL AND EXISTS (SELECT FROM drumline.event_cursor)
        ORDER BY o.seq
        LIMIT :limit
    )
) AS unread
