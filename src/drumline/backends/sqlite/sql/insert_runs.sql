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
