-- name: lock_due_schedules
-- fire: lock the schedules that are due and that nobody else is firing, the earliest first. What they are is read by
-- due_schedules.sql, once they are locked: beside the row that it locks, a statement may see what was before that.
-- GIVES one row: the time, and the schedules; none of them if nothing is due
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

due AS MATERIALIZED (
    SELECT live.id
    FROM drumline.schedule_live AS live
    WHERE live.due_at <= (SELECT clock.now FROM clock)
    ORDER BY live.due_at
    LIMIT :limit::int4
    FOR UPDATE SKIP LOCKED
)

SELECT clock.now, ARRAY(SELECT due.id FROM due) AS ids FROM clock

-- name: due_schedules
-- fire: schedules that are due, the earliest first, and whether the previous run of each goes on. They are locked.
-- GIVES rows in the order of stores/schedule_rows.py: DueRow
SELECT
    live.id::text, schedule.tenant, schedule.name, schedule.rule, schedule.policy, schedule.target, live.fire_at,
    live.runs, live.waiting, live.last_task::text, live.last_job::text,
    CASE
        -- By default nobody asks. OFFSET 0 keeps the planner from reading all tasks to have them at hand.
        WHEN schedule.policy = '{}' THEN false
        ELSE
            EXISTS (SELECT FROM drumline.task_live WHERE task_live.id = live.last_task OFFSET 0)
            OR EXISTS (SELECT FROM drumline.job WHERE job.id = live.last_job AND job.finished_at IS NULL OFFSET 0)
    END
FROM drumline.schedule_live AS live
CROSS JOIN LATERAL (SELECT s.* FROM drumline.schedule AS s WHERE s.id = live.id OFFSET 0) AS schedule
WHERE live.id = any(:ids::uuid [])
ORDER BY live.due_at, live.id

-- name: lock_runs_to_start
-- start runs: lock those of backfills whose time has come, the earliest first.
-- GIVES the time, then the columns of stores/schedule_rows.py: WaitingRow
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

run AS MATERIALIZED (
    SELECT r.schedule_id, r.fire_time, r.kind, r.start_at
    FROM drumline.schedule_run AS r
    WHERE r.state = 1 AND r.start_at IS NOT NULL AND r.start_at <= (SELECT clock.now FROM clock)
    ORDER BY r.start_at
    LIMIT :limit::int4
    FOR UPDATE SKIP LOCKED
)

SELECT
    clock.now, run.schedule_id::text, schedule.tenant, schedule.name, schedule.target, run.fire_time, run.kind, false
FROM clock
CROSS JOIN run
CROSS JOIN LATERAL (SELECT s.* FROM drumline.schedule AS s WHERE s.id = run.schedule_id OFFSET 0) AS schedule
ORDER BY run.start_at, run.fire_time

-- name: lock_queued_runs
-- start runs: lock schedules that have runs waiting for the one before them, if that has ended. Whether it has, and which
-- run is next, is looked at again by queued_runs.sql, once they are locked: beside the row that it locks, a statement
-- may see what was before another scheduler started a run.
-- GIVES one row: the time, and the schedules
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

free AS MATERIALIZED (
    SELECT live.id
    FROM drumline.schedule_live AS live
    WHERE
        live.waiting > 0
        AND live.state <> 1
        -- OFFSET 0 keeps the planner from joining: on empty tables reading all jobs looks as good as a look by key.
        AND NOT EXISTS (SELECT FROM drumline.task_live WHERE task_live.id = live.last_task OFFSET 0)
        AND NOT EXISTS (
            SELECT FROM drumline.job WHERE job.id = live.last_job AND job.finished_at IS NULL OFFSET 0
        )
    ORDER BY live.id
    LIMIT :limit::int4
    FOR UPDATE OF live SKIP LOCKED
)

SELECT clock.now, ARRAY(SELECT free.id FROM free) AS ids FROM clock

-- name: queued_runs
-- start runs: of each schedule the oldest run that waits for the one before it, if that has ended. They are locked.
-- GIVES rows in the order of stores/schedule_rows.py: WaitingRow
SELECT live.id::text, schedule.tenant, schedule.name, schedule.target, run.fire_time, run.kind, true
FROM drumline.schedule_live AS live
CROSS JOIN LATERAL (SELECT s.* FROM drumline.schedule AS s WHERE s.id = live.id OFFSET 0) AS schedule
CROSS JOIN LATERAL (
    SELECT r.fire_time, r.kind
    FROM drumline.schedule_run AS r
    WHERE r.schedule_id = live.id AND r.state = 1 AND r.start_at IS NULL
    ORDER BY r.fire_time
    LIMIT 1
) AS run
WHERE
    live.id = any(:ids::uuid [])
    AND NOT EXISTS (SELECT FROM drumline.task_live WHERE task_live.id = live.last_task OFFSET 0)
    AND NOT EXISTS (SELECT FROM drumline.job WHERE job.id = live.last_job AND job.finished_at IS NULL OFFSET 0)
ORDER BY live.id

-- name: take_queued
-- start runs: runs that waited are the previous ones now. The schedules are locked.
--   :schedules …  arrays of equal length, sorted by schedule, each once; as in advance_schedules.sql
UPDATE drumline.schedule_live AS live
SET
    waiting = greatest(live.waiting - 1, 0),
    last_fire_time = (:fire_times::int8 [])[width_bucket(live.id, :schedules::uuid [])],
    last_task = (:tasks::uuid [])[width_bucket(live.id, :schedules)],
    last_job = (:jobs::uuid [])[width_bucket(live.id, :schedules)]
WHERE live.id = any(:schedules)

-- name: last_run
-- add runs: a run that was asked for is the previous one now. The schedule is locked.
UPDATE drumline.schedule_live
SET last_fire_time = :fire_time::int8, last_task = :task::uuid, last_job = :job::uuid
WHERE id = :schedule::uuid

-- name: insert_runs
-- fire and add runs: one row per firing. A fire time that has a run keeps it, but for one that was skipped.
-- GIVES the runs that came about
INSERT INTO drumline.schedule_run AS run (
    schedule_id, fire_time, kind, state, created_at, start_at, task_id, job_id, reason
)
SELECT
    g.schedule, g.fire_time, g.kind, g.state, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    g.start_at, g.task, g.job, g.reason
FROM
    unnest(
        :schedules::uuid [], :fire_times::int8 [], :kinds::int2 [], :states::int2 [], :start_at::int8 [], :tasks::uuid [],
        :jobs::uuid [], :reasons::text []
    ) AS g (schedule, fire_time, kind, state, start_at, task, job, reason)
ON CONFLICT (schedule_id, fire_time) DO UPDATE
SET
    kind = excluded.kind,
    state = excluded.state,
    created_at = excluded.created_at,
    start_at = excluded.start_at,
    task_id = excluded.task_id,
    job_id = excluded.job_id,
    reason = excluded.reason
WHERE run.state = 2 AND excluded.state <> 2
RETURNING run.schedule_id::text, run.fire_time

-- name: start_runs
-- start runs: runs have started, or could not. They are there, and locked by themselves or with their schedules: saying
-- it as an insertion that conflicts finds each by its key, whatever the planner thinks of the table.
INSERT INTO drumline.schedule_run AS run (schedule_id, fire_time, kind, state, created_at, task_id, job_id, reason)
SELECT
    g.schedule, g.fire_time, g.kind, g.state, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    g.task, g.job, g.reason
FROM
    unnest(
        :schedules::uuid [], :fire_times::int8 [], :kinds::int2 [], :states::int2 [], :tasks::uuid [], :jobs::uuid [],
        :reasons::text []
    ) AS g (schedule, fire_time, kind, state, task, job, reason)
ON CONFLICT (schedule_id, fire_time) DO UPDATE
SET
    state = excluded.state,
    created_at = excluded.created_at,
    task_id = excluded.task_id,
    job_id = excluded.job_id,
    reason = excluded.reason

-- name: advance_schedules
-- fire: the next fire times, and what was counted. The schedules are locked.
--   :ids …  arrays of equal length, sorted by id. Each row finds its place by itself: a join could be planned to read
--           the whole table for each of them, as long as that is small.
UPDATE drumline.schedule_live AS live
SET
    fire_at = (:fire_at::int8 [])[width_bucket(live.id, :ids::uuid [])],
    due_at = (:due_at::int8 [])[width_bucket(live.id, :ids)],
    state = CASE WHEN (:finished::bool [])[width_bucket(live.id, :ids)] THEN 2 ELSE live.state END,
    runs = live.runs + (:runs::int8 [])[width_bucket(live.id, :ids)],
    skipped = live.skipped + (:skipped::int8 [])[width_bucket(live.id, :ids)],
    missed = live.missed + (:missed::int8 [])[width_bucket(live.id, :ids)],
    waiting = live.waiting + (:waiting::int4 [])[width_bucket(live.id, :ids)],
    last_fire_time = coalesce((:last_fire_times::int8 [])[width_bucket(live.id, :ids)], live.last_fire_time),
    last_task = CASE
        WHEN (:last_fire_times)[width_bucket(live.id, :ids)] IS NULL THEN live.last_task
        ELSE (:last_tasks::uuid [])[width_bucket(live.id, :ids)]
    END,
    last_job = CASE
        WHEN (:last_fire_times)[width_bucket(live.id, :ids)] IS NULL THEN live.last_job
        ELSE (:last_jobs::uuid [])[width_bucket(live.id, :ids)]
    END
WHERE live.id = any(:ids)
