-- dead letters: what a task was given before.
SELECT e.epoch, e.at, e.payload FROM drumline.payload_edit AS e
WHERE
    e.task_id = :id::uuid
    AND (
        :tenant::text IS NULL
        OR EXISTS (
            SELECT FROM drumline.task INNER JOIN drumline.lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
ORDER BY e.epoch
