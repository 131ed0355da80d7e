-- waiting: up to :limit queued tasks due before a time, and as many that are blocked.
-- GIVES id and state
(
    SELECT head.id, 1::int2 AS state
    FROM drumline.lane
    CROSS JOIN LATERAL (
        SELECT l.id FROM drumline.task_live AS l
        WHERE l.lane = lane.id AND l.due_at < :due_before::int8 AND l.state = 1
        LIMIT :limit::int4
    ) AS head
    LIMIT :limit
)
UNION ALL
(
    SELECT head.id, 0::int2 AS state
    FROM drumline.lane
    CROSS JOIN LATERAL (
        SELECT l.id FROM drumline.task_live AS l
        WHERE l.lane = lane.id AND l.due_at IS NULL AND l.state = 0
        LIMIT :limit
    ) AS head
    LIMIT :limit
)
