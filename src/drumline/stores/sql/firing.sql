-- name: lock_due_schedules (postgres)
-- fire: lock the schedules that are due and that no other process is firing, the earliest first. What they are is read by
-- due_schedules, once they are locked: beside the row that it locks, a statement may see what was before that.
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

-- name: lock_due_schedules (sqlite)
-- fire: the schedules that are due, the earliest first.
-- GIVES one JSON list with one row: the time, and the schedules
SELECT json_array(json_array(:now, json_group_array(due.id)))
FROM (SELECT id FROM schedule_live WHERE due_at <= :now ORDER BY due_at LIMIT :limit) AS due

-- name: due_schedules (postgres)
-- fire: schedules that are due, the earliest first, and whether the previous run of each goes on. They are locked.
-- GIVES rows in the order of stores/schedule_rows.py: DueRow
SELECT
    live.id::text, schedule.tenant, schedule.name, schedule.rule, schedule.policy, schedule.target, live.fire_at,
    live.runs, live.waiting, live.last_task::text, live.last_job::text,
    CASE
        -- By default that does not matter. OFFSET 0 keeps the planner from reading all tasks to have them at hand.
        WHEN schedule.policy = '{}' THEN false
        ELSE
            EXISTS (SELECT 1 FROM drumline.task_live WHERE task_live.id = live.last_task OFFSET 0)
            OR EXISTS (SELECT 1 FROM drumline.job WHERE job.id = live.last_job AND job.finished_at IS NULL OFFSET 0)
    END
FROM drumline.schedule_live AS live
CROSS JOIN LATERAL (SELECT s.* FROM drumline.schedule AS s WHERE s.id = live.id OFFSET 0) AS schedule
WHERE live.id = any(:ids::uuid [])
ORDER BY live.due_at, live.id

-- name: due_schedules (sqlite)
-- fire: schedules that are due, the earliest first, and whether the previous run of each goes on.
-- GIVES one JSON list of rows in the order of stores/schedule_rows.py: DueRow
SELECT
    json_group_array(
        json_array(
            due.id, schedule.tenant, schedule.name, schedule.rule, schedule.policy, schedule.target, due.fire_at, due.runs,
            due.waiting, due.last_task, due.last_job,
            CASE
                -- By default that does not matter.
                WHEN schedule.policy = '{}' THEN 0
                ELSE
                    EXISTS (SELECT 1 FROM task_live WHERE id = due.last_task)
                    OR EXISTS (SELECT 1 FROM job WHERE id = due.last_job AND finished_at IS NULL)
            END
        )
    )
FROM (
    SELECT id, fire_at, runs, waiting, last_task, last_job
    FROM schedule_live
    WHERE id = any(:ids)
    ORDER BY due_at, id
) AS due
CROSS JOIN schedule ON due.id = schedule.id

-- name: lock_runs_to_start (postgres)
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

-- name: lock_runs_to_start (sqlite)
-- start runs: those of backfills whose time has come, the earliest first.
-- GIVES the time, then the columns of stores/schedule_rows.py: WaitingRow
SELECT :now, run.schedule_id, schedule.tenant, schedule.name, schedule.target, run.fire_time, run.kind, 0
FROM schedule_run AS run
CROSS JOIN schedule ON run.schedule_id = schedule.id
WHERE run.state = 1 AND run.start_at IS NOT NULL AND run.start_at <= :now
ORDER BY run.start_at
LIMIT :limit

-- name: lock_queued_runs (postgres)
-- start runs: lock schedules that have runs waiting for the one before them, if that has ended. Whether it has, and which
-- run is next, is read again by queued_runs, once they are locked: beside the row that it locks, a statement
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
        -- OFFSET 0 keeps the planner from joining: on empty tables reading all jobs costs as little as a search by key.
        AND NOT EXISTS (SELECT 1 FROM drumline.task_live WHERE task_live.id = live.last_task OFFSET 0)
        AND NOT EXISTS (
            SELECT 1 FROM drumline.job WHERE job.id = live.last_job AND job.finished_at IS NULL OFFSET 0
        )
    ORDER BY live.id
    LIMIT :limit::int4
    FOR UPDATE OF live SKIP LOCKED
)

SELECT clock.now, ARRAY(SELECT free.id FROM free) AS ids FROM clock

-- name: lock_queued_runs (sqlite)
-- start runs: schedules that have runs waiting for the one before them, if that has ended.
-- GIVES one JSON list with one row: the time, and the schedules
SELECT json_array(json_array(:now, json_group_array(free.id)))
FROM (
    SELECT live.id
    FROM schedule_live AS live
    WHERE
        live.waiting > 0
        AND live.state <> 1
        AND NOT EXISTS (SELECT 1 FROM task_live WHERE id = live.last_task)
        AND NOT EXISTS (SELECT 1 FROM job WHERE id = live.last_job AND finished_at IS NULL)
    ORDER BY live.id
    LIMIT :limit
) AS free

-- name: queued_runs (postgres)
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
    AND NOT EXISTS (SELECT 1 FROM drumline.task_live WHERE task_live.id = live.last_task OFFSET 0)
    AND NOT EXISTS (SELECT 1 FROM drumline.job WHERE job.id = live.last_job AND job.finished_at IS NULL OFFSET 0)
ORDER BY live.id

-- name: queued_runs (sqlite)
-- start runs: of each schedule the oldest run that waits for the one before it.
-- GIVES rows in the order of stores/schedule_rows.py: WaitingRow
SELECT live.id, schedule.tenant, schedule.name, schedule.target, run.fire_time, run.kind, 1
FROM schedule_live AS live
CROSS JOIN schedule ON live.id = schedule.id
CROSS JOIN schedule_run AS run ON live.id = run.schedule_id
WHERE
    live.id = any(:ids)
    AND run.fire_time = (
        -- Said outright: by its key alone all runs there ever were would be read.
        SELECT min(fire_time) FROM schedule_run INDEXED BY schedule_run_queued
        WHERE schedule_id = live.id AND state = 1 AND start_at IS NULL
    )
ORDER BY live.id

-- name: take_queued (postgres)
-- start runs: runs that waited are the previous ones now. The schedules are locked.
--   :schedules …  arrays of equal length, sorted by schedule, each once; as in advance_schedules
UPDATE drumline.schedule_live AS live
SET
    waiting = greatest(live.waiting - 1, 0),
    last_fire_time = (:fire_times::int8 [])[width_bucket(live.id, :schedules::uuid [])],
    last_task = (:tasks::uuid [])[width_bucket(live.id, :schedules)],
    last_job = (:jobs::uuid [])[width_bucket(live.id, :schedules)]
WHERE live.id = any(:schedules)

-- name: take_queued (sqlite)
-- start runs: runs that waited are the previous ones now.
UPDATE schedule_live
SET waiting = max(waiting - 1, 0), last_fire_time = g.fire_time, last_task = g.task, last_job = g.job
FROM
    unnest(:schedules::uuid [], :fire_times::int8 [], :tasks::uuid [], :jobs::uuid []) AS g (schedule, fire_time, task, job)
WHERE schedule_live.id = g.schedule

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
WHERE true
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
WHERE true
ON CONFLICT (schedule_id, fire_time) DO UPDATE
SET
    state = excluded.state,
    created_at = excluded.created_at,
    task_id = excluded.task_id,
    job_id = excluded.job_id,
    reason = excluded.reason

-- name: advance_schedules (postgres)
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

-- name: advance_schedules (sqlite)
-- fire: the next fire times, and what was counted.
UPDATE schedule_live
SET
    fire_at = g.fire_at,
    due_at = g.due_at,
    state = CASE WHEN g.finished THEN 2 ELSE state END,
    runs = runs + g.added,
    skipped = schedule_live.skipped + g.skipped,
    missed = schedule_live.missed + g.missed,
    waiting = schedule_live.waiting + g.waiting,
    last_fire_time = coalesce(g.last_fire_time, schedule_live.last_fire_time),
    last_task = CASE WHEN g.last_fire_time IS NULL THEN schedule_live.last_task ELSE g.last_task END,
    last_job = CASE WHEN g.last_fire_time IS NULL THEN schedule_live.last_job ELSE g.last_job END
FROM
    unnest(
        :ids::uuid [], :fire_at::int8 [], :due_at::int8 [], :finished::bool [], :runs::int8 [], :skipped::int8 [],
        :missed::int8 [], :waiting::int4 [], :last_fire_times::int8 [], :last_tasks::uuid [], :last_jobs::uuid []
    ) AS g (id, fire_at, due_at, finished, added, skipped, missed, waiting, last_fire_time, last_task, last_job)
WHERE schedule_live.id = g.id
