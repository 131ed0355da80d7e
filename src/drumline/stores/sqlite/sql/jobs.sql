-- name: start_jobs
-- start: note that tasks of jobs have been claimed.
--   :ids  JSON list
UPDATE job SET status = 2, started_at = :now, version = version + 1
WHERE id IN (SELECT value FROM json_each(:ids)) AND status = 1 AND started_at IS NULL
RETURNING id

-- name: request_job_cancel
-- cancel: note that a job is to stop.
UPDATE job SET cancel_requested = 1, reason = coalesce(:reason, reason) WHERE id = :job

-- name: request_cancel_in_job
-- cancel: ask the running tasks of a job to stop; their workers are told at their next beat.
-- GIVES those for which that is news, with their epochs
UPDATE task_live SET cancel_requested = 1
WHERE state = 2 AND NOT cancel_requested AND id IN (SELECT task_id FROM job_task WHERE job_id = :job)
RETURNING id, epoch

-- name: live_in_job
-- cancel, ripple: the tasks of a job that have not ended.
SELECT live.id, live.state, live.lane, live.epoch, live.attempt, live.session, live.started_at, member.pending
FROM job_task AS member
CROSS JOIN task_live AS live ON member.task_id = live.id
WHERE member.job_id = :job
ORDER BY live.id

-- name: in_jobs
-- every act that ends tasks: which of these belong to jobs.
--   :ids  JSON list
-- GIVES one JSON list of [task id, job id, key]
SELECT json_group_array(json_array(job_task.task_id, job_task.job_id, job_task.key))
FROM json_each(:ids) AS given
CROSS JOIN job_task
WHERE job_task.task_id = given.value

-- name: members
-- resume: all tasks of a job as they stand.
-- GIVES one JSON list of [id, key, state, run_if, cause, epoch, attempt, lane, [those that it needs]]
SELECT json_group_array(json_array(id, key, state, run_if, cause, epoch, attempt, lane, json(parents)))
FROM (
    SELECT
        member.task_id AS id,
        member.key,
        coalesce(live.state, last.outcome) AS state,
        member.run_if,
        member.cause,
        coalesce(live.epoch, last.epoch) AS epoch,
        coalesce(live.attempt, last.attempt) AS attempt,
        task.lane,
        (SELECT json_group_array(edge.parent) FROM task_edge AS edge WHERE edge.child = member.task_id) AS parents
    FROM job_task AS member
    CROSS JOIN task ON member.task_id = task.id
    LEFT JOIN task_live AS live ON member.task_id = live.id
    LEFT JOIN attempt AS last
        ON
            member.task_id = last.task_id
            AND last.epoch = (SELECT max(epoch) FROM attempt WHERE task_id = member.task_id)
    WHERE member.job_id = :job
    ORDER BY member.task_id
)

-- name: needed_jobs
-- resume: the jobs that a job depends on, as they stand; those that were pruned are not in its way.
SELECT job.id, job.name, job.status FROM job_dep
CROSS JOIN job ON job_dep.needs_job = job.id
WHERE job_dep.job_id = :job
ORDER BY job.id

-- name: mark_deps
-- resume: which of the jobs that a job depends on keep it waiting.
--   :pending  JSON list; the others do not
UPDATE job_dep SET is_done = needs_job NOT IN (SELECT value FROM json_each(:pending)) WHERE job_id = :job

-- name: revive_job
-- resume: a job goes on; what came back to life has not ended.
UPDATE job
SET
    failed = failed - :failed,
    cancelled = cancelled - :cancelled,
    skipped = skipped - :skipped,
    pending_jobs = :pending_jobs,
    status = CASE WHEN :pending_jobs > 0 OR started_at IS NULL THEN 1 ELSE 2 END,
    version = version + 1,
    finished_at = NULL,
    failed_by = NULL,
    reason = NULL,
    cancel_requested = 0
WHERE id = :job

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

-- name: blame
-- every act that ends tasks: because of which task others were skipped.
--   :batch  JSON list of [task id, cause]
UPDATE job_task
SET cause = json_extract(given.value, '$[1]')
FROM json_each(:batch) AS given
WHERE job_task.task_id = json_extract(given.value, '$[0]')

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

-- name: tally
-- every act that ends tasks: count them in their jobs. A job whose tasks have all ended has ended itself: it failed if a
-- task did, or a job that it depends on; else it was cancelled if a task was; else it completed.
--   :batch  JSON list of [job, completed, failed, cancelled, skipped, started_at], each job once
UPDATE job
SET
    completed = job.completed + json_extract(given.value, '$[1]'),
    failed = job.failed + json_extract(given.value, '$[2]'),
    cancelled = job.cancelled + json_extract(given.value, '$[3]'),
    skipped = job.skipped + json_extract(given.value, '$[4]'),
    version = job.version + 1,
    started_at = coalesce(job.started_at, json_extract(given.value, '$[5]')),
    status = CASE
        WHEN job.status = 1 AND json_extract(given.value, '$[5]') IS NOT NULL THEN 2 ELSE job.status
    END
FROM json_each(:batch) AS given
WHERE job.id = json_extract(given.value, '$[0]')

-- name: end_jobs
-- every act that ends tasks: end the jobs of which every task has ended.
--   :ids  JSON list; those that have ended already stay as they are
UPDATE job
SET
    status = CASE
        WHEN job.failed > 0 OR job.failed_by IS NOT NULL THEN 4
        WHEN job.cancelled > 0 THEN 5
        ELSE 3
    END,
    finished_at = :now
FROM json_each(:ids) AS given
WHERE
    job.id = given.value
    AND job.finished_at IS NULL
    AND job.completed + job.failed + job.cancelled + job.skipped = job.total

-- name: insert_ripples
-- every act that ends jobs: those who wait for them have to be told.
--   :ids  JSON list
INSERT INTO job_ripple (job_id)
SELECT given.value FROM json_each(:ids) AS given
WHERE EXISTS (SELECT 1 FROM job_dep WHERE job_dep.needs_job = given.value AND NOT job_dep.is_done)

-- name: children
-- every act that ends tasks: the blocked tasks that need one of these.
--   :ids  JSON list
-- GIVES one JSON list of [id, job, key, run_if, pending, bad, lane, epoch, attempt, [those of :ids that it needs]]
SELECT json_group_array(json_array(id, job_id, key, run_if, pending, bad, lane, epoch, attempt, json(parents)))
FROM (
    SELECT
        live.id, member.job_id, member.key, member.run_if, member.pending, member.bad,
        live.lane, live.epoch, live.attempt, json_group_array(edge.parent) AS parents
    FROM json_each(:ids) AS given
    CROSS JOIN task_edge AS edge ON given.value = edge.parent
    CROSS JOIN task_live AS live ON edge.child = live.id
    CROSS JOIN job_task AS member ON live.id = member.task_id
    WHERE live.state = 0
    GROUP BY live.id
)

-- name: descendants
-- every act that ends tasks: the blocked tasks that need one of these, or one that needs one, and so on.
--   :ids  JSON list
-- GIVES one JSON list as children.sql; the parents are those of :ids, and blocked ones that were reached
WITH RECURSIVE reached (id) AS (
    SELECT value FROM json_each(:ids)
    UNION
    SELECT live.id
    FROM reached
    CROSS JOIN task_edge AS edge ON reached.id = edge.parent
    CROSS JOIN task_live AS live ON edge.child = live.id
    WHERE live.state = 0
)

SELECT json_group_array(json_array(id, job_id, key, run_if, pending, bad, lane, epoch, attempt, json(parents)))
FROM (
    SELECT
        live.id, member.job_id, member.key, member.run_if, member.pending, member.bad,
        live.lane, live.epoch, live.attempt, json_group_array(edge.parent) AS parents
    FROM reached
    CROSS JOIN task_edge AS edge ON reached.id = edge.parent
    CROSS JOIN task_live AS live ON edge.child = live.id
    CROSS JOIN job_task AS member ON live.id = member.task_id
    WHERE live.state = 0
    GROUP BY live.id
)

-- name: ripples
-- ripple: jobs that have ended, whose dependents may have to be told.
SELECT seq, job_id FROM job_ripple ORDER BY seq LIMIT 100

-- name: delete_ripple
-- ripple: everybody has been told.
DELETE FROM job_ripple WHERE seq = :seq

-- name: dep_done
-- ripple: a job does not wait for another any more, because that one has ended.
UPDATE job_dep SET is_done = 1 WHERE job_id = :job AND needs_job = :needed AND NOT is_done

-- name: job_needs_less
-- ripple: a job waits for one job less.
UPDATE job SET pending_jobs = pending_jobs - 1 WHERE id = :job

-- name: fail_job
-- ripple: a job fails because of another. Its tasks are skipped in the same transaction.
UPDATE job SET failed_by = :needed, reason = :reason, pending_jobs = 0 WHERE id = :job

-- name: jobs_waiting_for
-- ripple: jobs that wait for another.
SELECT job_id FROM job_dep WHERE needs_job = :needed AND NOT is_done ORDER BY job_id LIMIT :limit

-- name: insert_job
-- submit: store a job. Nothing of it has ended.
INSERT INTO job (
    id, tenant, name, owner, options, total, pending_jobs, created_at, idempotency_key, fingerprint, schedule_id, fire_time
)
VALUES (
    :id, :tenant, :name, :owner, :options, :total, :pending_jobs, :now, :idempotency_key, :fingerprint, :schedule_id,
    :fire_time
)

-- name: insert_deps
-- submit: which jobs a job waits for.
--   :batch  JSON list of [job, whether it has completed]
INSERT INTO job_dep (job_id, needs_job, is_done)
SELECT :job, json_extract(value, '$[0]'), json_extract(value, '$[1]')
FROM json_each(:batch)

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

-- name: insert_edges
-- submit: which tasks need which.
--   :batch  JSON list of [parent, child]
INSERT INTO task_edge (parent, child)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]')
FROM json_each(:batch)

-- name: job_by_key
-- submit: the job that an idempotency key belongs to, or that is stored under this very id.
SELECT id, fingerprint FROM job
WHERE id = :id OR (tenant = :tenant AND idempotency_key = :idempotency_key)
ORDER BY id = :id DESC
LIMIT 1

-- name: job_keys
-- submit: the tasks of a job by key.
SELECT key, task_id FROM job_task WHERE job_id = :job ORDER BY task_id
