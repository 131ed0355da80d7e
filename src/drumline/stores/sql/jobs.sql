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
-- list: jobs from :first up to, and without, :before, newest first. What is NULL does not narrow.
SELECT
    job.id, job.tenant, job.name, job.owner, job.status, job.options, job.total, job.completed, job.failed,
    job.cancelled, job.skipped, job.pending_jobs, job.reason, job.cancel_requested, job.created_at, job.started_at,
    job.finished_at, job.idempotency_key, job.schedule_id, job.fire_time, job.version
FROM drumline.job
WHERE
    job.id >= :first::uuid
    AND job.id < :before::uuid
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
-- list: jobs from :first up to, and without, :before, newest first. What is NULL does not narrow.
SELECT
    id, tenant, name, owner, status, options, total, completed, failed, cancelled, skipped, pending_jobs, reason,
    cancel_requested, created_at, started_at, finished_at, idempotency_key, schedule_id, fire_time, version
FROM job
WHERE
    id >= :first
    AND id < :before
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
-- nodes: the tasks of a job as they are now, in the order in which they were given.
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
-- nodes: the tasks of a job as they are now, in the order in which they were given.
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

-- name: node_items
-- nodes: how many items maps have noted, how many children they have, how many of these have ended, and how many badly.
SELECT
    l.parent_id,
    (
        SELECT r.value FROM drumline.step_record AS r
        WHERE r.task_id = l.parent_id AND r.key = :key::text
        ORDER BY r.name
        LIMIT 1
    ) AS noted,
    count(*) AS started,
    count(l.state) AS ended,
    count(CASE WHEN l.state > 3 THEN 1 END) AS failed
FROM drumline.task_link AS l
WHERE l.parent_id = any(:ids::uuid [])
GROUP BY l.parent_id

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

-- name: in_jobs (postgres)
-- every act that ends tasks or brings them back: which of these belong to jobs. That never changes.
SELECT member.task_id::text, member.job_id::text, member.key
FROM drumline.job_task AS member
WHERE member.task_id = any(:ids::uuid [])

-- name: in_jobs (sqlite)
-- every act that ends tasks: which of these belong to jobs.
-- GIVES one JSON list of [task id, job id, key]
SELECT json_group_array(json_array(job_task.task_id, job_task.job_id, job_task.key))
FROM json_each(:ids) AS given
CROSS JOIN job_task
WHERE job_task.task_id = given.value

-- name: lock_jobs
-- every act that ends tasks of jobs or brings them back: lock the jobs first, and with them their whole graphs.
-- GIVES the jobs as they are now
SELECT
    job.id, job.tenant, job.name, job.owner, job.status, job.options, job.total, job.completed, job.failed,
    job.cancelled, job.skipped, job.pending_jobs, job.reason, job.cancel_requested, job.created_at, job.started_at,
    job.finished_at, job.idempotency_key, job.schedule_id, job.fire_time, job.version
FROM drumline.job
WHERE job.id = any(:ids::uuid [])
ORDER BY job.id
FOR NO KEY UPDATE

-- name: children (postgres)
-- every act that ends tasks: the blocked tasks that need one of these. Their jobs are locked.
-- GIVES with each the ones of :ids that it needs
SELECT
    live.id::text, member.job_id::text, member.key, member.run_if, member.pending, member.bad, live.lane, live.epoch,
    live.attempt, needing.parents::text []
FROM (
    SELECT edge.child, array_agg(edge.parent) AS parents
    FROM (
        SELECT e.parent, e.child FROM drumline.task_edge AS e WHERE e.parent = any(:ids::uuid []) OFFSET 0
    ) AS edge
    GROUP BY edge.child
) AS needing
CROSS JOIN LATERAL (
    SELECT l.id, l.lane, l.epoch, l.attempt
    FROM drumline.task_live AS l
    WHERE l.id = needing.child AND l.state = 0
    OFFSET 0
) AS live
CROSS JOIN LATERAL (
    SELECT m.job_id, m.key, m.run_if, m.pending, m.bad
    FROM drumline.job_task AS m
    WHERE m.task_id = needing.child
    OFFSET 0
) AS member

-- name: children (sqlite)
-- every act that ends tasks: the blocked tasks that need one of these.
-- GIVES one JSON list of [id, job, key, run_if, pending, bad, lane, epoch, attempt, [those of :ids that it needs]]
-- A child is looked up once, not once for each of its parents.
SELECT json_group_array(json_array(id, job_id, key, run_if, pending, bad, lane, epoch, attempt, json(parents)))
FROM (
    SELECT
        live.id, member.job_id, member.key, member.run_if, member.pending, member.bad,
        live.lane, live.epoch, live.attempt, needing.parents
    FROM (
        SELECT edge.child, json_group_array(edge.parent) AS parents
        FROM json_each(:ids) AS given
        CROSS JOIN task_edge AS edge ON given.value = edge.parent
        GROUP BY edge.child
    ) AS needing
    CROSS JOIN task_live AS live ON needing.child = live.id
    CROSS JOIN job_task AS member ON live.id = member.task_id
    WHERE live.state = 0
)

-- name: descendants (postgres)
-- every act that ends tasks: the blocked tasks that need one of these, or one that needs one, and so on.
-- GIVES as children; the parents are those of :ids, and blocked ones that were reached
WITH RECURSIVE reached (id) AS (
    SELECT given.id FROM unnest(:ids::uuid []) AS given (id)
    UNION
    SELECT live.id
    FROM reached
    CROSS JOIN LATERAL (
        SELECT e.child FROM drumline.task_edge AS e WHERE e.parent = reached.id OFFSET 0
    ) AS edge
    CROSS JOIN LATERAL (
        SELECT l.id FROM drumline.task_live AS l WHERE l.id = edge.child AND l.state = 0 OFFSET 0
    ) AS live
)

SELECT
    live.id::text, member.job_id::text, member.key, member.run_if, member.pending, member.bad, live.lane, live.epoch,
    live.attempt, needing.parents::text []
FROM (
    SELECT edge.child, array_agg(edge.parent) AS parents
    FROM (
        SELECT e.parent, e.child FROM drumline.task_edge AS e WHERE e.parent = any(ARRAY(SELECT reached.id FROM reached)) OFFSET 0
    ) AS edge
    GROUP BY edge.child
) AS needing
CROSS JOIN LATERAL (
    SELECT l.id, l.lane, l.epoch, l.attempt
    FROM drumline.task_live AS l
    WHERE l.id = needing.child AND l.state = 0
    OFFSET 0
) AS live
CROSS JOIN LATERAL (
    SELECT m.job_id, m.key, m.run_if, m.pending, m.bad
    FROM drumline.job_task AS m
    WHERE m.task_id = needing.child
    OFFSET 0
) AS member

-- name: descendants (sqlite)
-- every act that ends tasks: the blocked tasks that need one of these, or one that needs one, and so on.
-- GIVES one JSON list as children; the parents are those of :ids, and blocked ones that were reached
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

-- name: blame (postgres)
-- every act that ends tasks: because of which task others were skipped.
--   :ids, :causes  arrays of equal length, sorted by id, each once
UPDATE drumline.job_task AS member
SET cause = (:causes::uuid [])[width_bucket(member.task_id, :ids::uuid [])]
WHERE member.task_id = any(:ids)

-- name: blame (sqlite)
-- every act that ends tasks: because of which task others were skipped.
UPDATE job_task
SET cause = g.cause
FROM unnest(:ids::uuid [], :causes::uuid []) AS g (id, cause)
WHERE job_task.task_id = g.id

-- name: count_parents (postgres)
-- every act that ends tasks or brings them back: what blocked tasks still wait for.
--   :ids …  arrays of equal length, sorted by id, each once
UPDATE drumline.job_task AS member
SET
    pending = (:pending::int4 [])[width_bucket(member.task_id, :ids::uuid [])],
    bad = (:bad::int4 [])[width_bucket(member.task_id, :ids)],
    cause = NULL
WHERE member.task_id = any(:ids)

-- name: count_parents (sqlite)
-- every act that ends tasks or brings them back: what blocked tasks still wait for.
UPDATE job_task
SET pending = g.pending, bad = g.bad, cause = NULL
FROM unnest(:ids::uuid [], :pending::int4 [], :bad::int4 []) AS g (id, pending, bad)
WHERE job_task.task_id = g.id

-- name: unended_parents (postgres)
-- settle, reap: which of these tasks need tasks that have not ended, because those run again. Their jobs are locked.
-- GIVES with each how many of what it needs have not ended, and how many ended badly; nothing for the others
SELECT
    given.id::text,
    count(live.id) AS pending,
    count(*) FILTER (
        WHERE live.id IS NULL AND (last.outcome IN (4, 5) OR (last.outcome = 6 AND member.cause IS NOT NULL))
    ) AS bad
FROM unnest(:ids::uuid []) AS given (id)
CROSS JOIN LATERAL (
    SELECT e.parent FROM drumline.task_edge AS e WHERE e.child = given.id OFFSET 0
) AS edge
LEFT JOIN LATERAL (
    SELECT l.id FROM drumline.task_live AS l WHERE l.id = edge.parent OFFSET 0
) AS live ON true
LEFT JOIN LATERAL (
    SELECT a.outcome FROM drumline.attempt AS a WHERE a.task_id = edge.parent ORDER BY a.epoch DESC LIMIT 1
) AS last ON true
CROSS JOIN LATERAL (
    SELECT m.cause FROM drumline.job_task AS m WHERE m.task_id = edge.parent OFFSET 0
) AS member
GROUP BY given.id
HAVING count(live.id) > 0

-- name: unended_parents (sqlite)
-- settle, reap: which of these tasks need tasks that have not ended, because those run again.
-- GIVES with each how many of what it needs have not ended, and how many ended badly; nothing for the others
SELECT
    edge.child,
    count(live.id) AS pending,
    count(CASE WHEN live.id IS NULL AND (last.outcome IN (4, 5) OR (last.outcome = 6 AND member.cause IS NOT NULL)) THEN 1 END)
        AS bad
FROM json_each(:ids) AS given
CROSS JOIN task_edge AS edge ON given.value = edge.child
CROSS JOIN job_task AS member ON edge.parent = member.task_id
LEFT JOIN task_live AS live ON edge.parent = live.id
LEFT JOIN attempt AS last
    ON
        edge.parent = last.task_id
        AND last.epoch = (SELECT max(epoch) FROM attempt WHERE task_id = edge.parent)
GROUP BY edge.child
HAVING count(live.id) > 0
ORDER BY edge.child

-- name: hold_back
-- resume: tasks that wait to be claimed have to wait for others again. Their job is locked.
--   transition  queued -> blocked
--   fence       epoch rises
--   :ids        those that were claimed meanwhile are left alone
-- GIVES those that wait for others now, with their epochs
UPDATE drumline.task_live AS live
SET state = 0, due_at = NULL, epoch = live.epoch + 1
WHERE live.id = any(:ids::uuid []) AND live.state = 1
RETURNING live.id, live.epoch

-- name: tally (postgres)
-- every act that ends tasks: count them in their jobs, which are locked. A job whose tasks have all ended has ended
-- itself: it failed if a task did, or a job that it depends on; else it was cancelled if a task was; else it completed.
-- Then those who wait for it have to be told, here and in other databases.
--   :ids …  arrays of equal length, sorted by id, each once; :ended is the sum of the four before it
-- GIVES the jobs as they are after it
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

job AS (
    UPDATE drumline.job AS j
    SET
        completed = j.completed + (:completed::int4 [])[width_bucket(j.id, :ids::uuid [])],
        failed = j.failed + (:failed::int4 [])[width_bucket(j.id, :ids)],
        cancelled = j.cancelled + (:cancelled::int4 [])[width_bucket(j.id, :ids)],
        skipped = j.skipped + (:skipped::int4 [])[width_bucket(j.id, :ids)],
        version = j.version + 1,
        started_at = coalesce(j.started_at, (:started_at::int8 [])[width_bucket(j.id, :ids)]),
        status = CASE
            WHEN
                j.completed + j.failed + j.cancelled + j.skipped
                + (:ended::int4 [])[width_bucket(j.id, :ids)] < j.total
                THEN
                    CASE
                        WHEN j.status = 1 AND (:started_at)[width_bucket(j.id, :ids)] IS NOT NULL THEN 2
                        ELSE j.status
                    END
            WHEN j.failed + (:failed)[width_bucket(j.id, :ids)] > 0 OR j.failed_by IS NOT NULL THEN 4
            WHEN j.cancelled + (:cancelled)[width_bucket(j.id, :ids)] > 0 THEN 5
            ELSE 3
        END,
        finished_at = CASE
            WHEN
                j.completed + j.failed + j.cancelled + j.skipped
                + (:ended)[width_bucket(j.id, :ids)] = j.total
                THEN (SELECT clock.now FROM clock)
        END
    WHERE j.id = any(:ids)
    RETURNING j.*
),

rippled AS (
    INSERT INTO drumline.job_ripple (job_id)
    SELECT job.id FROM job
    WHERE
        job.finished_at IS NOT NULL
        AND (
            SELECT true FROM drumline.job_dep AS dep
            WHERE dep.needs_job = job.id AND NOT dep.is_done AND NOT dep.is_far
            LIMIT 1
        )
),

watched AS (
    INSERT INTO drumline.watch_ripple (needs_job, job_id, life, status, name)
    SELECT job.id, watch.job_id, watch.life, job.status, job.name
    FROM job
    CROSS JOIN LATERAL (
        SELECT w.job_id, w.life FROM drumline.job_watch AS w WHERE w.needs_job = job.id OFFSET 0
    ) AS watch
    WHERE job.finished_at IS NOT NULL
)

SELECT
    job.id, job.tenant, job.name, job.owner, job.status, job.options, job.total, job.completed, job.failed,
    job.cancelled, job.skipped, job.pending_jobs, job.reason, job.cancel_requested, job.created_at, job.started_at,
    job.finished_at, job.idempotency_key, job.schedule_id, job.fire_time, job.version
FROM job

-- name: tally (sqlite)
-- every act that ends tasks: count them in their jobs. A job whose tasks have all ended has ended itself: it failed if a
-- task did, or a job that it depends on; else it was cancelled if a task was; else it completed.
-- GIVES the jobs as they are after it
UPDATE job
SET
    completed = job.completed + g.completed,
    failed = job.failed + g.failed,
    cancelled = job.cancelled + g.cancelled,
    skipped = job.skipped + g.skipped,
    version = job.version + 1,
    started_at = coalesce(job.started_at, g.started_at),
    status = CASE
        WHEN job.completed + job.failed + job.cancelled + job.skipped + g.ended < job.total
            THEN CASE WHEN job.status = 1 AND g.started_at IS NOT NULL THEN 2 ELSE job.status END
        WHEN job.failed + g.failed > 0 OR job.failed_by IS NOT NULL THEN 4
        WHEN job.cancelled + g.cancelled > 0 THEN 5
        ELSE 3
    END,
    finished_at = CASE
        WHEN job.completed + job.failed + job.cancelled + job.skipped + g.ended = job.total THEN :now
    END
FROM
    unnest(
        :ids::uuid [], :completed::int4 [], :failed::int4 [], :cancelled::int4 [], :skipped::int4 [], :ended::int4 [],
        :started_at::int8 []
    ) AS g (id, completed, failed, cancelled, skipped, ended, started_at)
WHERE job.id = g.id
RETURNING
    job.id, job.tenant, job.name, job.owner, job.status, job.options, job.total, job.completed, job.failed,
    job.cancelled, job.skipped, job.pending_jobs, job.reason, job.cancel_requested, job.created_at, job.started_at,
    job.finished_at, job.idempotency_key, job.schedule_id, job.fire_time, job.version

-- name: ripples
-- ripple: jobs that have ended, whose dependents may have to be told.
SELECT ripple.seq, ripple.job_id FROM drumline.job_ripple AS ripple
ORDER BY ripple.seq
LIMIT 100

-- name: jobs_waiting_for (postgres)
-- ripple: jobs that wait for another.
SELECT waiting.job_id
FROM (SELECT dep.job_id FROM drumline.job_dep AS dep WHERE dep.needs_job = :needed::uuid AND NOT dep.is_done AND NOT dep.is_far OFFSET 0) AS waiting
ORDER BY waiting.job_id
LIMIT :limit::int4

-- name: jobs_waiting_for (sqlite)
-- ripple: jobs that wait for another.
SELECT job_id FROM job_dep WHERE needs_job = :needed AND NOT is_done AND NOT is_far ORDER BY job_id LIMIT :limit

-- name: delete_ripple
-- ripple: everybody has been told.
DELETE FROM drumline.job_ripple WHERE seq = :seq::int8

-- name: dep_done
-- ripple: a job does not wait for another any more, because that one has ended. Both are locked.
-- GIVES a row if that is news
UPDATE drumline.job_dep SET is_done = true
WHERE job_id = :job::uuid AND needs_job = :needed::uuid AND NOT is_done
RETURNING job_id

-- name: job_needs_less
-- ripple: a job waits for one job less.
UPDATE drumline.job SET pending_jobs = pending_jobs - 1, version = version + 1 WHERE id = :job::uuid

-- name: fail_job
-- ripple: a job fails because of another. Its tasks are skipped in the same transaction.
UPDATE drumline.job SET failed_by = :needed::uuid, reason = :reason::text, pending_jobs = 0 WHERE id = :job::uuid

-- name: lock_in_job (postgres)
-- cancel, ripple: lock the tasks of a job that have not ended. The job is locked.
SELECT
    live.id, live.state, live.lane, live.epoch, live.attempt, live.session, live.started_at,
    (SELECT member.pending FROM drumline.job_task AS member WHERE member.task_id = live.id) AS pending
FROM drumline.task_live AS live
WHERE live.id = any(ARRAY(SELECT m.task_id FROM drumline.job_task AS m WHERE m.job_id = :job::uuid))
ORDER BY live.id
FOR UPDATE OF live

-- name: lock_in_job (sqlite)
-- cancel, ripple: the tasks of a job that have not ended.
SELECT live.id, live.state, live.lane, live.epoch, live.attempt, live.session, live.started_at, member.pending
FROM job_task AS member
CROSS JOIN task_live AS live ON member.task_id = live.id
WHERE member.job_id = :job
ORDER BY live.id

-- name: share_jobs
-- submit: jobs that others are to wait for. None of them can end before those do wait.
SELECT
    job.id, job.tenant, job.name, job.owner, job.status, job.options, job.total, job.completed, job.failed,
    job.cancelled, job.skipped, job.pending_jobs, job.reason, job.cancel_requested, job.created_at, job.started_at,
    job.finished_at, job.idempotency_key, job.schedule_id, job.fire_time, job.version
FROM drumline.job
WHERE job.id = any(:ids::uuid [])
ORDER BY job.id
FOR SHARE

-- name: insert_deps
-- submit: which jobs wait for which.
--   :jobs …  arrays of equal length
INSERT INTO drumline.job_dep (job_id, needs_job, is_done, is_far)
SELECT g.job, g.needed, g.is_done, g.is_far
FROM unnest(:jobs::uuid [], :needed::uuid [], :done::bool [], :far::bool []) AS g (job, needed, is_done, is_far)

-- name: insert_edges
-- submit: which tasks need which.
--   :parents, :children  arrays of equal length
INSERT INTO drumline.task_edge (parent, child)
SELECT g.parent, g.child FROM unnest(:parents::uuid [], :children::uuid []) AS g (parent, child)

-- name: insert_jobs
-- submit: store jobs, of which nothing has ended; one whose id or idempotency key is known is left as it is.
-- Waits for a concurrent submission of the same key to commit or fail. They come sorted by key, so that no two
-- submissions can wait for each other.
-- GIVES those that were new
INSERT INTO drumline.job (
    id, tenant, name, owner, options, total, pending_jobs, created_at, idempotency_key, fingerprint, schedule_id, fire_time
)
SELECT
    g.id, g.tenant, g.name, g.owner, g.options, g.total, g.pending_jobs,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    g.idempotency_key, g.fingerprint, g.schedule_id, g.fire_time
FROM
    unnest(
        :ids::uuid [], :tenants::text [], :names::text [], :owners::text [], :options::text [], :totals::int4 [],
        :pending_jobs::int4 [], :keys::text [], :fingerprints::bytea [], :schedules::text [], :fire_times::int8 []
    ) AS g (
        id, tenant, name, owner, options, total, pending_jobs, idempotency_key, fingerprint, schedule_id, fire_time
    )
WHERE true
ON CONFLICT DO NOTHING
RETURNING id

-- name: known_jobs (postgres)
-- submit: jobs that are stored under these ids or idempotency keys. A statement after insert_jobs, so that it sees what
-- that waited for.
--   :ids …  arrays of equal length
SELECT g.id AS asked, j.id, j.status, j.fingerprint
FROM unnest(:ids::uuid [], :tenants::text [], :keys::text []) AS g (id, tenant, key)
CROSS JOIN LATERAL (
    (
        SELECT job.id, job.status, job.fingerprint FROM drumline.job
        WHERE job.id = g.id
    )
    UNION ALL
    (
        SELECT job.id, job.status, job.fingerprint FROM drumline.job
        WHERE job.idempotency_key = g.key AND job.tenant = g.tenant AND job.id <> g.id
    )
) AS j

-- name: known_jobs (sqlite)
-- submit: jobs that are stored under these ids or idempotency keys.
SELECT g.id AS asked, job.id, job.status, job.fingerprint
FROM unnest(:ids::uuid [], :tenants::text [], :keys::text []) AS g (id, tenant, key)
CROSS JOIN job ON job.id = g.id OR (job.tenant = g.tenant AND job.idempotency_key = g.key)
ORDER BY job.id = g.id

-- name: job_keys (postgres)
-- submit: the tasks of jobs by key, in the order in which they were given.
SELECT member.job_id, member.key, member.task_id
FROM (
    SELECT m.job_id, m.key, m.task_id FROM drumline.job_task AS m WHERE m.job_id = any(:ids::uuid []) OFFSET 0
) AS member
ORDER BY member.task_id

-- name: job_keys (sqlite)
-- submit: the tasks of jobs by key, in the order in which they were given.
SELECT member.job_id, member.key, member.task_id FROM job_task AS member
WHERE member.job_id = any(:ids)
ORDER BY member.task_id

-- name: start_jobs (postgres)
-- start: note that tasks of jobs have been claimed.
-- GIVES the jobs for which that is news
WITH locked AS MATERIALIZED (
    SELECT j.id FROM drumline.job AS j
    WHERE j.id = any(:ids::uuid []) AND j.started_at IS NULL AND j.finished_at IS NULL
    ORDER BY j.id
    FOR NO KEY UPDATE
)

UPDATE drumline.job
SET
    status = 2,
    started_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    version = job.version + 1
WHERE job.id = any(ARRAY(SELECT locked.id FROM locked))
RETURNING
    job.id, job.tenant, job.name, job.owner, job.status, job.options, job.total, job.completed, job.failed,
    job.cancelled, job.skipped, job.pending_jobs, job.reason, job.cancel_requested, job.created_at, job.started_at,
    job.finished_at, job.idempotency_key, job.schedule_id, job.fire_time, job.version

-- name: start_jobs (sqlite)
-- start: note that tasks of jobs have been claimed.
-- GIVES the jobs for which that is news
UPDATE job SET status = 2, started_at = :now, version = version + 1
WHERE id = any(:ids) AND status = 1 AND started_at IS NULL
RETURNING
    job.id, job.tenant, job.name, job.owner, job.status, job.options, job.total, job.completed, job.failed,
    job.cancelled, job.skipped, job.pending_jobs, job.reason, job.cancel_requested, job.created_at, job.started_at,
    job.finished_at, job.idempotency_key, job.schedule_id, job.fire_time, job.version

-- name: request_job_cancel
-- cancel: note that a job is to stop.
UPDATE drumline.job SET cancel_requested = true, reason = coalesce(:reason::text, reason) WHERE id = :job::uuid

-- name: members (postgres)
-- resume: all tasks of a job as they are now. The job is locked.
-- GIVES with each the tasks that it needs
SELECT
    member.task_id, member.key, coalesce(live.state, last.outcome) AS state, member.run_if, member.cause,
    coalesce(live.epoch, last.epoch) AS epoch, coalesce(live.attempt, last.attempt) AS attempt, wide.lane,
    ARRAY(SELECT edge.parent FROM drumline.task_edge AS edge WHERE edge.child = member.task_id) AS parents
FROM (
    SELECT m.task_id, m.key, m.run_if, m.cause FROM drumline.job_task AS m WHERE m.job_id = :job::uuid OFFSET 0
) AS member
CROSS JOIN LATERAL (
    SELECT task.lane FROM drumline.task WHERE task.id = member.task_id OFFSET 0
) AS wide
LEFT JOIN LATERAL (
    SELECT l.state, l.epoch, l.attempt FROM drumline.task_live AS l WHERE l.id = member.task_id OFFSET 0
) AS live ON true
LEFT JOIN LATERAL (
    SELECT a.outcome, a.epoch, a.attempt
    FROM drumline.attempt AS a
    WHERE a.task_id = member.task_id
    ORDER BY a.epoch DESC
    LIMIT 1
) AS last ON true
ORDER BY member.task_id

-- name: members (sqlite)
-- resume: all tasks of a job as they are now.
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

-- name: mark_deps
-- resume: which of the jobs that a job depends on keep it waiting; the others do not. Its waits are registered anew.
UPDATE drumline.job_dep SET is_done = NOT (needs_job = any(:pending::uuid [])), is_registered = false
WHERE job_id = :job::uuid

-- name: revive_job
-- resume, retry in a job: the job goes on; what came back to life has not ended.
-- GIVES the job as it is after it
UPDATE drumline.job
SET
    failed = job.failed - :failed::int4,
    cancelled = job.cancelled - :cancelled::int4,
    skipped = job.skipped - :skipped::int4,
    pending_jobs = :pending_jobs::int4,
    status = CASE WHEN :pending_jobs > 0 OR job.started_at IS NULL THEN 1 ELSE 2 END,
    version = job.version + 1,
    life = job.life + 1,
    finished_at = NULL,
    failed_by = NULL,
    reason = NULL,
    cancel_requested = false
WHERE job.id = :job::uuid
RETURNING
    job.id, job.tenant, job.name, job.owner, job.status, job.options, job.total, job.completed, job.failed,
    job.cancelled, job.skipped, job.pending_jobs, job.reason, job.cancel_requested, job.created_at, job.started_at,
    job.finished_at, job.idempotency_key, job.schedule_id, job.fire_time, job.version

-- name: revive
-- retry, resume: give ended tasks a live row again. The tasks, or their job, are locked, and they have no live row.
--   transition  failed, cancelled, skipped -> queued, blocked
--   fence       epoch goes on from the last attempt's
--   :ids …      arrays of equal length; those that are blocked are not due
INSERT INTO drumline.task_live (id, lane, due_at, state, epoch, attempt, in_job, family, records, record_bytes)
SELECT
    g.id, g.lane, CASE WHEN g.state = 1 THEN :due_at::int8 END, g.state, g.epoch, g.attempt, :in_job::bool,
    CASE WHEN EXISTS (SELECT 1 FROM drumline.task_link AS l WHERE l.child_id = g.id) THEN 1 ELSE 0 END
    + CASE WHEN EXISTS (SELECT 1 FROM drumline.task_link AS l WHERE l.parent_id = g.id) THEN 2 ELSE 0 END,
    coalesce((SELECT max(r.seq) FROM drumline.step_record AS r WHERE r.task_id = g.id), 0),
    coalesce((SELECT sum(length(r.value)) FROM drumline.step_record AS r WHERE r.task_id = g.id), 0)
FROM
    unnest(:ids::uuid [], :lanes::int4 [], :states::int2 [], :epochs::int4 [], :attempts::int4 [])
    AS g (id, lane, state, epoch, attempt)
