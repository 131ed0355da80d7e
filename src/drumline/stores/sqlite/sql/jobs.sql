-- name: insert_job_live
-- submit, resume: let tasks of jobs wait, to be claimed or to be released.
--   :batch  JSON list of [id, lane, due_at, state, epoch, attempt]; blocked ones have no due_at
INSERT INTO task_live (id, lane, due_at, state, epoch, attempt, in_job)
SELECT
    json_extract(value, '$[0]'),
    json_extract(value, '$[1]'),
    json_extract(value, '$[2]'),
    json_extract(value, '$[3]'),
    json_extract(value, '$[4]'),
    json_extract(value, '$[5]'),
    1
FROM json_each(:batch)

-- name: unblock
-- every act that ends tasks: let blocked tasks wait to be claimed.
--   transition  blocked -> queued
--   :ids        JSON list; a task's own delay counts from now, and it is not due before its run_at
-- GIVES what waits now
UPDATE task_live
SET
    state = 1,
    due_at = max(:now + member.delay_ms, coalesce(member.run_at, 0))
FROM json_each(:ids) AS given, job_task AS member
WHERE task_live.id = given.value AND member.task_id = given.value AND task_live.state = 0
RETURNING id, lane, due_at, epoch

-- name: insert_ripples
-- every act that ends jobs: those who wait for them have to be told.
--   :ids  JSON list
INSERT INTO job_ripple (job_id)
SELECT given.value FROM json_each(:ids) AS given
WHERE
    EXISTS (
        SELECT 1 FROM job_dep WHERE job_dep.needs_job = given.value AND NOT job_dep.is_done AND NOT job_dep.is_far
    )

-- name: insert_ripples_of_watched
-- every act that ends jobs: jobs of other databases that wait for them have to be told.
--   :ids  JSON list
INSERT INTO watch_ripple (needs_job, job_id, life, status, name)
SELECT job.id, job_watch.job_id, job_watch.life, job.status, job.name
FROM json_each(:ids) AS given
CROSS JOIN job ON given.value = job.id
CROSS JOIN job_watch ON job.id = job_watch.needs_job

-- name: insert_job_tasks
-- submit: how tasks hang together with the others of their job.
--   :batch  JSON list of [task id, job id, key, run_if, pending, delay_ms, run_at]
INSERT INTO job_task (task_id, job_id, key, run_if, pending, delay_ms, run_at)
SELECT
    json_extract(value, '$[0]'),
    json_extract(value, '$[1]'),
    json_extract(value, '$[2]'),
    json_extract(value, '$[3]'),
    json_extract(value, '$[4]'),
    json_extract(value, '$[5]'),
    json_extract(value, '$[6]')
FROM json_each(:batch)
