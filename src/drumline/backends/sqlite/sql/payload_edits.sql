-- dead letters: what a task was given before.
SELECT epoch, at, payload
FROM payload_edit
WHERE
    task_id = :id
    AND (
        :tenant IS NULL
        OR EXISTS (
            SELECT 1 FROM task INNER JOIN lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
ORDER BY epoch
