-- progress: how far the attempts are that run now.
SELECT p.task_id, p.done, p.total, p.message
FROM drumline.progress AS p
WHERE
    p.task_id = any(:ids::uuid [])
    AND p.epoch = (SELECT live.epoch FROM drumline.task_live AS live WHERE live.id = p.task_id AND live.state = 2)
    AND (
        :tenant::text IS NULL
        OR EXISTS (
            SELECT FROM drumline.task INNER JOIN drumline.lane ON task.lane = lane.id
            WHERE task.id = p.task_id AND lane.tenant = :tenant
        )
    )
