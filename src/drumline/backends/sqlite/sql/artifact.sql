-- artifact: one file.
SELECT content_type, data
FROM artifact
WHERE
    task_id = :id
    AND name = :name
    AND (
        :tenant IS NULL
        OR EXISTS (
            SELECT 1 FROM task INNER JOIN lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
