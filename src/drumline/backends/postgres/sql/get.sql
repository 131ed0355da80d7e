-- get: tasks as they stand.
--   :with_payload  whether to read payloads and results too
SELECT
    task.id,
    task.lane,
    coalesce(live.state, a.outcome) AS state,
    task.created_at,
    CASE WHEN live.state = 0 THEN NULL ELSE coalesce(live.due_at, task.due_at) END AS due_at,
    coalesce(live.epoch, a.epoch) AS epoch,
    coalesce(live.attempt, a.attempt) AS attempt,
    coalesce(live.failures, 0) AS failures,
    coalesce(live.crashes, 0) AS crashes,
    coalesce(live.cancel_requested, false) AS cancel_requested,
    coalesce(nullif(live.started_at, 0), a.started_at) AS started_at,
    CASE WHEN live.id IS NULL THEN a.finished_at END AS finished_at,
    coalesce(nullif(live.session, 0), a.session) AS session,
    task.options,
    task.idempotency_key,
    CASE WHEN live.id IS NULL AND :with_payload::bool THEN a.result END AS result,
    a.error,
    CASE WHEN :with_payload THEN task.payload END AS payload
FROM drumline.task
LEFT JOIN LATERAL (
    SELECT
        l.id, l.state, l.due_at, l.epoch, l.attempt, l.failures, l.crashes, l.cancel_requested, l.started_at, l.session
    FROM drumline.task_live AS l
    WHERE l.id = task.id
    OFFSET 0
) AS live ON true
LEFT JOIN LATERAL (
    SELECT
        attempt.outcome, attempt.epoch, attempt.attempt, attempt.started_at, attempt.finished_at, attempt.session,
        attempt.result, attempt.error
    FROM drumline.attempt
    WHERE attempt.task_id = task.id
    ORDER BY attempt.epoch DESC
    LIMIT 1
) AS a ON true
WHERE task.id = any(:ids::uuid [])
