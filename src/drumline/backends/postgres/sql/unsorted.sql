-- sort keys: the earliest tasks of a lane whose keys were not looked up yet.
SELECT due.id, wide.payload, wide.options
FROM (
    SELECT live.id
    FROM drumline.task_live AS live
    WHERE live.lane = :lane::int4 AND live.due_at <= :until::int8 AND live.state = 1
    ORDER BY live.due_at, live.id
    LIMIT :most::int4
    FOR UPDATE SKIP LOCKED
) AS due
CROSS JOIN LATERAL (
    SELECT task.payload, task.options FROM drumline.task WHERE task.id = due.id OFFSET 0
) AS wide
