-- prune: when the first row was written that some consumer has not passed on. Without consumers there is none.
SELECT min(unread.at) AS at
FROM (
    (
        SELECT o.at FROM drumline.outbox AS o
        WHERE o.position > (SELECT min(c.position) FROM drumline.event_cursor AS c)
        ORDER BY o.position
        LIMIT 1
    )
    UNION ALL
    (
        SELECT o.at FROM drumline.outbox AS o
        WHERE o.position IS NULL AND EXISTS (SELECT FROM drumline.event_cursor)
        ORDER BY o.seq
        LIMIT 1
    )
) AS unread
