-- attempts: a task's executions, oldest first, the running one last.
SELECT epoch, attempt, outcome, session, started_at, finished_at, error
FROM attempt
WHERE task_id = :id
UNION ALL
SELECT epoch, attempt, state, session, started_at, NULL, NULL
FROM task_live
WHERE id = :id AND state = 2
ORDER BY epoch
