-- artifacts: what files a task made.
SELECT a.name, a.content_type, length(a.data) AS size, a.created_at
FROM drumline.artifact AS a
WHERE
    a.task_id = :id::uuid
    AND (
        :tenant::text IS NULL
        OR EXISTS (
            SELECT FROM drumline.task INNER JOIN drumline.lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
ORDER BY a.name
