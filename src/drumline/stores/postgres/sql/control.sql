-- name: request_cancel
-- cancel: ask running tasks to stop; their workers are told at their next beat. Asked again, it changes nothing.
WITH asked AS (
    UPDATE drumline.task_live AS live
    SET cancel_requested = true
    WHERE live.id = any(:ids::uuid []) AND live.state = 2 AND NOT live.cancel_requested
    RETURNING live.id, live.epoch
)

INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
SELECT
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    array_agg(asked.id), array_agg(:act::int2), array_agg(2::int2), array_agg(asked.epoch)
FROM asked
HAVING count(*) > 0

-- name: reschedule
-- reschedule: change when queued tasks are due, and their lane. Their live rows are locked.
--   transition  queued -> queued
--   fence       epoch rises
--   :ids …      arrays of equal length, sorted by id, each once
WITH wide AS (
    UPDATE drumline.task
    SET
        lane = (:lanes::int4 [])[width_bucket(task.id, :ids::uuid [])],
        due_at = (:due_at::int8 [])[width_bucket(task.id, :ids)]
    WHERE task.id = any(:ids)
),

live AS (
    UPDATE drumline.task_live AS live
    SET
        lane = (:lanes)[width_bucket(live.id, :ids)],
        due_at = (:due_at)[width_bucket(live.id, :ids)],
        epoch = live.epoch + 1
    WHERE live.id = any(:ids) AND live.state = 1
    RETURNING live.id, live.epoch, live.state
)

INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
SELECT
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    array_agg(live.id), array_agg(:act::int2), array_agg(live.state), array_agg(live.epoch)
FROM live
HAVING count(*) > 0

-- name: retry
-- retry: queue ended tasks again. The tasks are locked, and have no live row.
--   transition  failed, cancelled, skipped -> queued
--   fence       epoch goes on from the last attempt's
WITH live AS (
    INSERT INTO drumline.task_live (id, lane, due_at, epoch, attempt)
    SELECT g.id, g.lane, :due_at::int8, g.epoch, g.attempt
    FROM unnest(:ids::uuid [], :lanes::int4 [], :epochs::int4 [], :attempts::int4 []) AS g (id, lane, epoch, attempt)
)

INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
SELECT
    :due_at,
    :ids,
    array_fill(:act::int2, ARRAY[cardinality(:ids)]),
    array_fill(1::int2, ARRAY[cardinality(:ids)]),
    :epochs

-- name: pause_queue
-- pause a queue; pausing again changes the reason.
INSERT INTO drumline.queue_pause (tenant, queue, reason, paused_at)
VALUES (:tenant::text, :queue::text, :reason::text, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8))
ON CONFLICT (tenant, queue) DO UPDATE SET reason = excluded.reason

-- name: resume_queue
-- resume a queue.
DELETE FROM drumline.queue_pause WHERE tenant = :tenant::text AND queue = :queue::text
RETURNING queue

-- name: lock_tasks
-- cancel, reschedule, retry, discard: lock tasks, so that nobody gives them a live row or prunes them meanwhile.
SELECT task.id FROM drumline.task
WHERE task.id = any(:ids::uuid [])
ORDER BY task.id
FOR NO KEY UPDATE

-- name: lock_live
-- cancel, reschedule, retry: lock where tasks stand, against claims, settlements and reaps.
SELECT live.id FROM drumline.task_live AS live
WHERE live.id = any(:ids::uuid [])
ORDER BY live.id
FOR UPDATE

-- name: stands
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

-- name: edit_payload
-- retry: give a task that this transaction has locked another payload, and keep what it was given up to an epoch.
-- GIVES what it was given
WITH kept AS (
    INSERT INTO drumline.payload_edit (task_id, epoch, at, payload)
    SELECT
        task.id,
        :epoch::int4,
        coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
        task.payload
    FROM drumline.task
    WHERE task.id = :id::uuid
    RETURNING payload
),

edited AS (
    UPDATE drumline.task SET payload = :payload::bytea WHERE task.id = :id
)

SELECT kept.payload FROM kept
