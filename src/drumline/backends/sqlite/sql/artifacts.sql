-- artifacts: what files a task made.
SELECT name, content_type, length(data), created_at
FROM artifact
WHERE
    task_id = :id
    AND (
        :tenant IS NULL
        OR EXISTS (
            SELECT 1 FROM task INNER JOIN lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
ORDER BY name
