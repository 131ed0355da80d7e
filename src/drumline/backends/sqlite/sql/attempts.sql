-- attempts: a task's executions, oldest first, the running one last.
SELECT epoch, attempt, outcome, session, started_at, finished_at, error
FROM attempt
WHERE
    task_id = :id
    AND (
        :tenant IS NULL
        OR EXISTS (
            SELECT 1 FROM task INNER JOIN lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
UNION ALL
SELECT epoch, attempt, state, session, started_at, NULL, NULL
FROM task_live
WHERE
    id = :id
    AND state = 2
    AND (
        :tenant IS NULL
        OR EXISTS (
            SELECT 1 FROM task INNER JOIN lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
ORDER BY epoch
