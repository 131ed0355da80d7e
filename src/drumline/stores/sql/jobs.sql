-- name: jobs
-- get, and every act on jobs: jobs as they are.
SELECT
    job.id, job.tenant, job.name, job.owner, job.status, job.options, job.total, job.completed, job.failed,
    job.cancelled, job.skipped, job.pending_jobs, job.reason, job.cancel_requested, job.created_at, job.started_at,
    job.finished_at, job.idempotency_key, job.schedule_id, job.fire_time, job.version
FROM drumline.job
WHERE job.id = any(:ids::uuid [])

-- name: deps
-- get, resume: the jobs that jobs depend on. That never changes.
SELECT dep.job_id, dep.needs_job FROM drumline.job_dep AS dep
WHERE dep.job_id = any(:ids::uuid [])
ORDER BY dep.job_id, dep.needs_job

-- name: running_in_jobs (postgres)
-- get: how many tasks of jobs are running.
SELECT member.job_id, count(*) AS running
FROM (SELECT m.job_id, m.task_id FROM drumline.job_task AS m WHERE m.job_id = any(:ids::uuid []) OFFSET 0) AS member
CROSS JOIN LATERAL (
    SELECT l.id FROM drumline.task_live AS l WHERE l.id = member.task_id AND l.state = 2 OFFSET 0
) AS live
GROUP BY member.job_id

-- name: running_in_jobs (sqlite)
-- get: how many tasks of jobs are running.
SELECT member.job_id, count(*) AS running
FROM job_task AS member
CROSS JOIN task_live AS live ON member.task_id = live.id
WHERE member.job_id = any(:ids) AND live.state = 2
GROUP BY member.job_id

-- name: list_jobs (postgres)
-- list: jobs below :before, newest first. What is NULL does not narrow.
SELECT
    job.id, job.tenant, job.name, job.owner, job.status, job.options, job.total, job.completed, job.failed,
    job.cancelled, job.skipped, job.pending_jobs, job.reason, job.cancel_requested, job.created_at, job.started_at,
    job.finished_at, job.idempotency_key, job.schedule_id, job.fire_time, job.version
FROM drumline.job
WHERE
    job.id < :before::uuid
    AND (:tenant::text IS NULL OR job.tenant = :tenant)
    AND (:name::text IS NULL OR job.name = :name)
    AND (:owner::text IS NULL OR job.owner = :owner)
    AND (:schedule_id::text IS NULL OR job.schedule_id = :schedule_id)
    AND (:key::text IS NULL OR job.idempotency_key = :key)
    AND (:tag::text IS NULL OR job.options::jsonb -> 'tags' @> to_jsonb(:tag))
    AND (:statuses::int2 [] IS NULL OR job.status = any(:statuses))
ORDER BY job.id DESC
LIMIT :limit::int4

-- name: list_jobs (sqlite)
-- list: jobs below :before, newest first. What is NULL does not narrow.
SELECT
    id, tenant, name, owner, status, options, total, completed, failed, cancelled, skipped, pending_jobs, reason,
    cancel_requested, created_at, started_at, finished_at, idempotency_key, schedule_id, fire_time, version
FROM job
WHERE
    id < :before
    AND (:tenant IS NULL OR tenant = :tenant)
    AND (:name IS NULL OR name = :name)
    AND (:owner IS NULL OR owner = :owner)
    AND (:schedule_id IS NULL OR schedule_id = :schedule_id)
    AND (:key IS NULL OR idempotency_key = :key)
    AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(options, '$.tags') WHERE value = :tag))
    AND (:statuses IS NULL OR status = any(:statuses))
ORDER BY id DESC
LIMIT :limit

-- name: nodes (postgres)
-- nodes: the tasks of a job as they stand, in the order in which they were given.
-- GIVES with each the keys that it needs, and the key of the task because of which it was skipped
SELECT
    member.key,
    member.task_id,
    wide.lane,
    coalesce(live.state, last.outcome) AS state,
    ARRAY(
        SELECT parent.key
        FROM drumline.task_edge AS edge
        CROSS JOIN LATERAL (
            SELECT p.key FROM drumline.job_task AS p WHERE p.task_id = edge.parent OFFSET 0
        ) AS parent
        WHERE edge.child = member.task_id
        ORDER BY edge.parent
    ) AS needs,
    member.run_if,
    CASE WHEN live.state IS NULL THEN wide.due_at ELSE live.due_at END AS due_at,
    coalesce(live.attempt, last.attempt) AS attempt,
    coalesce(nullif(live.started_at, 0), last.started_at) AS started_at,
    CASE WHEN live.state IS NULL THEN last.finished_at END AS finished_at,
    CASE WHEN live.state IS NULL THEN last.error END AS error,
    (SELECT by.key FROM drumline.job_task AS by WHERE by.task_id = member.cause) AS cause
FROM (
    SELECT m.task_id, m.key, m.run_if, m.cause FROM drumline.job_task AS m WHERE m.job_id = :job::uuid OFFSET 0
) AS member
CROSS JOIN LATERAL (
    SELECT task.lane, task.due_at FROM drumline.task WHERE task.id = member.task_id OFFSET 0
) AS wide
LEFT JOIN LATERAL (
    SELECT l.state, l.due_at, l.attempt, l.started_at FROM drumline.task_live AS l WHERE l.id = member.task_id OFFSET 0
) AS live ON true
LEFT JOIN LATERAL (
    SELECT a.outcome, a.attempt, a.started_at, a.finished_at, a.error
    FROM drumline.attempt AS a
    WHERE a.task_id = member.task_id
    ORDER BY a.epoch DESC
    LIMIT 1
) AS last ON true
ORDER BY member.task_id

-- name: nodes (sqlite)
-- nodes: the tasks of a job as they stand, in the order in which they were given.
-- GIVES one JSON list of [key, task id, lane, state, [keys that it needs], run_if, due_at, attempt, started_at,
-- finished_at, error, the key of the task because of which it was skipped]
SELECT json_group_array(json_array(
    key, task_id, lane, state, json(needs), run_if, due_at, attempt, started_at, finished_at, error, cause
))
FROM (
    SELECT
        member.key, member.task_id, task.lane, view.state, member.run_if, view.due_at, view.attempt, view.started_at,
        view.finished_at,
        CASE WHEN view.finished_at IS NOT NULL THEN view.error END AS error,
        (SELECT by.key FROM job_task AS by WHERE by.task_id = member.cause) AS cause,
        (
            SELECT json_group_array(parent.key)
            FROM task_edge AS edge
            CROSS JOIN job_task AS parent ON edge.parent = parent.task_id
            WHERE edge.child = member.task_id
        ) AS needs
    FROM job_task AS member
    CROSS JOIN task ON member.task_id = task.id
    CROSS JOIN task_view AS view ON member.task_id = view.id
    WHERE member.job_id = :job
    ORDER BY member.task_id
)

-- name: job_attempts (postgres)
-- job attempts: the executions of a job's tasks, those that run first, then the one that ended last.
SELECT
    member.key, member.task_id, ran.epoch, ran.attempt, ran.outcome, ran.session, ran.started_at, ran.finished_at,
    ran.error
FROM (
    SELECT m.task_id, m.key FROM drumline.job_task AS m WHERE m.job_id = :job::uuid OFFSET 0
) AS member
CROSS JOIN LATERAL (
    SELECT a.epoch, a.attempt, a.outcome, a.session, a.started_at, a.finished_at, a.error
    FROM drumline.attempt AS a
    WHERE a.task_id = member.task_id AND a.started_at IS NOT NULL
    UNION ALL
    SELECT l.epoch, l.attempt, l.state, l.session, l.started_at, NULL, NULL
    FROM drumline.task_live AS l
    WHERE l.id = member.task_id AND l.state = 2
) AS ran
ORDER BY ran.finished_at DESC NULLS FIRST, member.task_id DESC, ran.epoch DESC
LIMIT :limit::int4

-- name: job_attempts (sqlite)
-- job attempts: the executions of a job's tasks, those that run first, then the one that ended last.
SELECT
    member.key, member.task_id, ran.epoch, ran.attempt, ran.outcome, ran.session, ran.started_at, ran.finished_at,
    ran.error
FROM job_task AS member
CROSS JOIN attempt AS ran ON member.task_id = ran.task_id
WHERE member.job_id = :job AND ran.started_at IS NOT NULL
UNION ALL
SELECT member.key, member.task_id, live.epoch, live.attempt, live.state, live.session, live.started_at, NULL, NULL
FROM job_task AS member
CROSS JOIN task_live AS live ON member.task_id = live.id
WHERE member.job_id = :job AND live.state = 2
ORDER BY 8 DESC NULLS FIRST, 2 DESC, 3 DESC
LIMIT :limit

-- name: results (postgres)
-- results: what tasks of jobs gave back.
--   :jobs, :keys  arrays of equal length
-- GIVES the results of those that have completed
SELECT g.job, g.key, last.result
FROM unnest(:jobs::uuid [], :keys::text []) AS g (job, key)
CROSS JOIN LATERAL (
    SELECT m.task_id FROM drumline.job_task AS m WHERE m.job_id = g.job AND m.key = g.key OFFSET 0
) AS member
CROSS JOIN LATERAL (
    SELECT a.outcome, a.result
    FROM drumline.attempt AS a
    WHERE a.task_id = member.task_id
    ORDER BY a.epoch DESC
    LIMIT 1
) AS last
WHERE
    last.outcome = 3
    AND (SELECT l.id FROM drumline.task_live AS l WHERE l.id = member.task_id) IS NULL

-- name: results (sqlite)
-- results: what tasks of jobs gave back.
-- GIVES the results of those that have completed
SELECT g.job, g.key, CAST(last.result AS BLOB) AS result
FROM unnest(:jobs::uuid [], :keys::text []) AS g (job, key)
CROSS JOIN job_task AS member ON g.job = member.job_id AND g.key = member.key
CROSS JOIN attempt AS last
    ON
        member.task_id = last.task_id
        AND last.epoch = (SELECT max(epoch) FROM attempt WHERE task_id = member.task_id)
WHERE last.outcome = 3 AND NOT EXISTS (SELECT 1 FROM task_live WHERE id = member.task_id)
