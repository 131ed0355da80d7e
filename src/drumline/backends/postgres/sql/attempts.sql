-- attempts: a task's executions, oldest first, the running one last.
SELECT a.epoch, a.attempt, a.outcome, a.session, a.started_at, a.finished_at, a.error
FROM drumline.attempt AS a
WHERE
    a.task_id = :id::uuid
    AND (
        :tenant::text IS NULL
        OR EXISTS (
            SELECT FROM drumline.task INNER JOIN drumline.lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
UNION ALL
SELECT live.epoch, live.attempt, live.state, live.session, live.started_at, NULL, NULL
FROM drumline.task_live AS live
WHERE
    live.id = :id
    AND live.state = 2
    AND (
        :tenant::text IS NULL
        OR EXISTS (
            SELECT FROM drumline.task INNER JOIN drumline.lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
ORDER BY 1
