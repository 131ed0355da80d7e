-- cancel, reschedule, retry: where tasks stand, by their live row or else their last attempt.
SELECT
    task.id,
    task.lane,
    coalesce(live.state, a.outcome) AS state,
    coalesce(live.epoch, a.epoch) AS epoch,
    coalesce(live.attempt, a.attempt) AS attempt,
    coalesce(live.due_at, task.due_at) AS due_at,
    nullif(live.session, 0) AS session,
    nullif(live.started_at, 0) AS started_at,
    coalesce((SELECT true FROM drumline.job_task AS member WHERE member.task_id = task.id), false) AS in_job,
    (SELECT d.epoch FROM drumline.dead_letter AS d WHERE d.task_id = task.id) AS letter
FROM drumline.task
LEFT JOIN LATERAL (
    SELECT l.id, l.state, l.epoch, l.attempt, l.due_at, l.session, l.started_at
    FROM drumline.task_live AS l
    WHERE l.id = task.id
    OFFSET 0
) AS live ON true
LEFT JOIN LATERAL (
    SELECT attempt.outcome, attempt.epoch, attempt.attempt
    FROM drumline.attempt
    WHERE attempt.task_id = task.id
    ORDER BY attempt.epoch DESC
    LIMIT 1
) AS a ON live.id IS NULL
WHERE task.id = any(:ids::uuid [])
