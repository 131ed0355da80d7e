-- list: the newest tasks of some lanes below :before.
SELECT head.id
FROM unnest(:lanes::int4 []) AS l (lane)
CROSS JOIN LATERAL (
    SELECT task.id FROM drumline.task
    WHERE task.lane = l.lane AND task.lane > 0 AND task.id < :before::uuid
    ORDER BY task.id DESC
    LIMIT :limit::int4
) AS head
ORDER BY head.id DESC
LIMIT :limit
