-- artifact: one file.
SELECT a.content_type, a.data
FROM drumline.artifact AS a
WHERE
    a.task_id = :id::uuid
    AND a.name = :name::text
    AND (
        :tenant::text IS NULL
        OR EXISTS (
            SELECT FROM drumline.task INNER JOIN drumline.lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
