-- name: due_schedules
-- fire: the schedules that are due, the earliest first, and whether the previous run of each goes on.
-- GIVES rows in the order of stores/schedule_rows.py: DueRow, as one JSON list
SELECT
    json_group_array(
        json_array(
            due.id, schedule.tenant, schedule.name, schedule.rule, schedule.policy, schedule.target, due.fire_at, due.runs,
            due.waiting, due.last_task, due.last_job,
            CASE
                -- By default nobody asks.
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
    WHERE due_at <= :now
    ORDER BY due_at
    LIMIT :limit
) AS due
CROSS JOIN schedule ON due.id = schedule.id

-- name: runs_to_start
-- start runs: those of backfills whose time has come, the earliest first.
-- GIVES rows in the order of stores/schedule_rows.py: WaitingRow
SELECT run.schedule_id, schedule.tenant, schedule.name, schedule.target, run.fire_time, run.kind, 0
FROM schedule_run AS run
CROSS JOIN schedule ON run.schedule_id = schedule.id
WHERE run.state = 1 AND run.start_at IS NOT NULL AND run.start_at <= :now
ORDER BY run.start_at
LIMIT :limit

-- name: queued_runs
-- start runs: of each schedule the oldest run that waits for the one before it, if that has ended.
-- GIVES rows in the order of stores/schedule_rows.py: WaitingRow
SELECT live.id, schedule.tenant, schedule.name, schedule.target, run.fire_time, run.kind, 1
FROM schedule_live AS live
CROSS JOIN schedule ON live.id = schedule.id
CROSS JOIN schedule_run AS run ON live.id = run.schedule_id
WHERE
    live.waiting > 0
    AND live.state <> 1
    AND NOT EXISTS (SELECT 1 FROM task_live WHERE id = live.last_task)
    AND NOT EXISTS (SELECT 1 FROM job WHERE id = live.last_job AND finished_at IS NULL)
    AND run.fire_time = (
        -- Said outright: by its key alone all runs there ever were would be looked at.
        SELECT min(fire_time) FROM schedule_run INDEXED BY schedule_run_queued
        WHERE schedule_id = live.id AND state = 1 AND start_at IS NULL
    )
LIMIT :limit

-- name: start_run
-- start runs: a run has started, or could not.
UPDATE schedule_run
SET state = :state, created_at = :now, task_id = :task, job_id = :job, reason = :reason
WHERE schedule_id = :schedule AND fire_time = :fire_time

-- name: take_queued
-- start runs: the run that waited is the previous one now.
UPDATE schedule_live
SET waiting = max(waiting - 1, 0), last_fire_time = :fire_time, last_task = :task, last_job = :job
WHERE id = :schedule

-- name: last_run
-- add runs: a run that was asked for is the previous one now.
UPDATE schedule_live SET last_fire_time = :fire_time, last_task = :task, last_job = :job WHERE id = :schedule

-- name: insert_runs
-- fire and add runs: one row per firing. A fire time that has a run keeps it, but for one that was skipped.
--   :batch  JSON list of [schedule, fire_time, kind, state, start_at, task, job, reason]
-- GIVES the runs that came about
INSERT INTO schedule_run (schedule_id, fire_time, kind, state, created_at, start_at, task_id, job_id, reason)
SELECT
    json_extract(value, '$[0]'),
    json_extract(value, '$[1]'),
    json_extract(value, '$[2]'),
    json_extract(value, '$[3]'),
    :now,
    json_extract(value, '$[4]'),
    json_extract(value, '$[5]'),
    json_extract(value, '$[6]'),
    json_extract(value, '$[7]')
FROM json_each(:batch)
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
WHERE schedule_run.state = 2 AND excluded.state <> 2
RETURNING schedule_id, fire_time

-- name: insert_runs_alike
-- fire: one row per firing for one fire time, of schedules of which each starts a task, as it was planned. A fire time
-- that has a run keeps it.
--   :batch  JSON object: the task by its schedule
INSERT INTO schedule_run (schedule_id, fire_time, kind, state, created_at, task_id)
SELECT
    given.key,
    :fire_time,
    0,
    0,
    :now,
    given.value
FROM json_each(:batch) AS given
WHERE true
ON CONFLICT (schedule_id, fire_time) DO NOTHING

-- name: runs_of_tasks
-- fire: which of some runs for one fire time came about.
--   :batch  JSON object: the task by its schedule
SELECT run.schedule_id
FROM json_each(:batch) AS given
CROSS JOIN schedule_run AS run ON given.key = run.schedule_id
WHERE run.fire_time = :fire_time AND run.task_id = given.value

-- name: advance_alike
-- fire: the next fire time of schedules that have it and the last one in common, of which one run has started, which
-- makes a task, and nothing else happened. Every look into JSON costs as much as the rest of it, so as little as can be is in it.
--   :batch  JSON object: the task by its schedule
UPDATE schedule_live
SET
    fire_at = :fire_at,
    due_at = :fire_at,
    runs = runs + 1,
    last_fire_time = :last_fire_time,
    last_task = given.value,
    last_job = NULL
FROM json_each(:batch) AS given
WHERE schedule_live.id = given.key

-- name: advance_schedules
-- fire: the next fire times, and what was counted.
--   :batch  JSON list in the order of stores/schedule_plans.py: Advance
UPDATE schedule_live
SET
    fire_at = json_extract(given.value, '$[1]'),
    due_at = json_extract(given.value, '$[2]'),
    state = CASE WHEN json_extract(given.value, '$[3]') THEN 2 ELSE state END,
    runs = runs + json_extract(given.value, '$[4]'),
    skipped = skipped + json_extract(given.value, '$[5]'),
    missed = missed + json_extract(given.value, '$[6]'),
    waiting = waiting + json_extract(given.value, '$[7]'),
    last_fire_time = coalesce(json_extract(given.value, '$[8]'), last_fire_time),
    last_task = CASE
        WHEN json_extract(given.value, '$[8]') IS NULL THEN last_task
        ELSE json_extract(given.value, '$[9]')
    END,
    last_job = CASE
        WHEN json_extract(given.value, '$[8]') IS NULL THEN last_job
        ELSE json_extract(given.value, '$[10]')
    END
FROM json_each(:batch) AS given
WHERE schedule_live.id = json_extract(given.value, '$[0]')
