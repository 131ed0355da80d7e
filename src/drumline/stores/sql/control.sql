-- name: lock_tasks
-- cancel, reschedule, retry, discard: lock tasks, so that no other transaction gives them a live row or prunes them.
SELECT task.id FROM drumline.task
WHERE task.id = any(:ids::uuid [])
ORDER BY task.id
FOR NO KEY UPDATE

-- name: lock_live
-- cancel, reschedule, retry: lock the live rows of tasks, against claims, settlements and reaps.
SELECT live.id FROM drumline.task_live AS live
WHERE live.id = any(:ids::uuid [])
ORDER BY live.id
FOR UPDATE

-- name: task_states (postgres)
-- cancel, reschedule, retry: the state of tasks, by their live row or else their last attempt.
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

-- name: task_states (sqlite)
-- cancel, reschedule, retry: the state of tasks, by their live row or else their last attempt.
SELECT
    task.id,
    task.lane,
    coalesce(live.state, last.outcome) AS state,
    coalesce(live.epoch, last.epoch) AS epoch,
    coalesce(live.attempt, last.attempt) AS attempt,
    coalesce(live.due_at, task.due_at) AS due_at,
    live.session,
    live.started_at,
    EXISTS (SELECT 1 FROM job_task WHERE task_id = task.id) AS in_job,
    (SELECT epoch FROM dead_letter WHERE task_id = task.id) AS letter
FROM task
LEFT JOIN task_live AS live ON task.id = live.id
LEFT JOIN attempt AS last
    ON task.id = last.task_id AND last.epoch = (SELECT max(epoch) FROM attempt WHERE task_id = task.id)
WHERE task.id = any(:ids)

-- name: request_cancel
-- cancel: ask running tasks to stop; their workers learn it at their next beat. Asked again, it changes nothing.
-- GIVES those for which that is news, with their epochs
UPDATE drumline.task_live AS live
SET cancel_requested = true
WHERE live.id = any(:ids::uuid []) AND live.state = 2 AND NOT live.cancel_requested
RETURNING live.id, live.epoch

-- name: reschedule_tasks (postgres)
-- reschedule: change when tasks are due, and their lane, in what was asked for. Their live rows are locked.
--   :ids …  arrays of equal length, sorted by id, each once
UPDATE drumline.task
SET
    lane = (:lanes::int4 [])[width_bucket(task.id, :ids::uuid [])],
    due_at = (:due_at::int8 [])[width_bucket(task.id, :ids)]
WHERE task.id = any(:ids)

-- name: reschedule_tasks (sqlite)
-- reschedule: change when tasks are due, and their lane, in what was asked for.
UPDATE task
SET lane = g.lane, due_at = g.due_at
FROM unnest(:ids::uuid [], :lanes::int4 [], :due_at::int8 []) AS g (id, lane, due_at)
WHERE task.id = g.id

-- name: reschedule_live (postgres)
-- reschedule: change when queued tasks are due, and their lane. Their live rows are locked.
--   transition  queued -> queued
--   fence       epoch rises
--   :ids …      arrays of equal length, sorted by id, each once
UPDATE drumline.task_live AS live
SET
    lane = (:lanes::int4 [])[width_bucket(live.id, :ids::uuid [])],
    due_at = (:due_at::int8 [])[width_bucket(live.id, :ids)],
    epoch = live.epoch + 1
WHERE live.id = any(:ids) AND live.state = 1

-- name: reschedule_live (sqlite)
-- reschedule: change when queued tasks are due, and their lane.
--   transition  queued -> queued
--   fence       epoch rises
UPDATE task_live
SET lane = g.lane, due_at = g.due_at, epoch = epoch + 1
FROM unnest(:ids::uuid [], :lanes::int4 [], :due_at::int8 []) AS g (id, lane, due_at)
WHERE task_live.id = g.id AND task_live.state = 1

-- name: pause_queue
-- pause a queue; pausing again changes the reason.
INSERT INTO drumline.queue_pause (tenant, queue, reason, paused_at)
VALUES (:tenant::text, :queue::text, :reason::text, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8))
ON CONFLICT (tenant, queue) DO UPDATE SET reason = excluded.reason

-- name: resume_queue
-- resume a queue.
DELETE FROM drumline.queue_pause WHERE tenant = :tenant::text AND queue = :queue::text
RETURNING queue

-- name: keep_payload
-- retry: keep what a task that is locked was given up to an epoch.
INSERT INTO drumline.payload_edit (task_id, epoch, at, payload)
SELECT
    task.id,
    :epoch::int4,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    task.payload
FROM drumline.task
WHERE task.id = :id::uuid

-- name: edit_payload (postgres)
-- retry: give a task that is locked another payload.
UPDATE drumline.task SET payload = :payload::bytea WHERE id = :id::uuid

-- name: edit_payload (sqlite)
-- retry: give a task another payload.
UPDATE task SET payload = CAST(:payload AS TEXT) WHERE id = :id

-- name: own_tasks
-- acts on tasks: those among them that can be seen. Asked from within a tenant's wall, that is the tenant's.
SELECT task.id FROM drumline.task WHERE task.id = any(:ids::uuid [])
