-- name: start_jobs
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

-- name: request_job_cancel
-- cancel: note that a job is to stop.
UPDATE drumline.job SET cancel_requested = true, reason = coalesce(:reason::text, reason) WHERE id = :job::uuid

-- name: lock_in_job
-- cancel, ripple: lock the tasks of a job that have not ended. The job is locked.
SELECT
    live.id, live.state, live.lane, live.epoch, live.attempt, live.session, live.started_at,
    (SELECT member.pending FROM drumline.job_task AS member WHERE member.task_id = live.id) AS pending
FROM drumline.task_live AS live
WHERE live.id = any(ARRAY(SELECT m.task_id FROM drumline.job_task AS m WHERE m.job_id = :job::uuid))
ORDER BY live.id
FOR UPDATE OF live

-- name: in_jobs
-- every act that ends tasks or brings them back: which of these belong to jobs. That never changes.
SELECT member.task_id::text, member.job_id::text, member.key
FROM drumline.job_task AS member
WHERE member.task_id = any(:ids::uuid [])

-- name: members
-- resume: all tasks of a job as they stand. The job is locked.
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

-- name: mark_deps
-- resume: which of the jobs that a job depends on keep it waiting; the others do not.
UPDATE drumline.job_dep SET is_done = needs_job <> all(:pending::uuid []) WHERE job_id = :job::uuid

-- name: revive_job
-- resume, retry in a job: the job goes on; what came back to life has not ended.
-- GIVES the job as it stands after it
UPDATE drumline.job
SET
    failed = job.failed - :failed::int4,
    cancelled = job.cancelled - :cancelled::int4,
    skipped = job.skipped - :skipped::int4,
    pending_jobs = :pending_jobs::int4,
    status = CASE WHEN :pending_jobs > 0 OR job.started_at IS NULL THEN 1 ELSE 2 END,
    version = job.version + 1,
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
-- resume, retry in a job: bring tasks back to life. Their job is locked, and they have no live row.
--   transition  failed, cancelled, skipped -> queued, blocked
--   fence       epoch goes on from the last attempt's
--   :ids …      arrays of equal length; those that are blocked are not due
WITH live AS (
    INSERT INTO drumline.task_live (id, lane, due_at, state, epoch, attempt, in_job)
    SELECT g.id, g.lane, CASE WHEN g.state = 1 THEN :due_at::int8 END, g.state, g.epoch, g.attempt, true
    FROM
        unnest(:ids::uuid [], :lanes::int4 [], :states::int2 [], :epochs::int4 [], :attempts::int4 [])
        AS g (id, lane, state, epoch, attempt)
)

INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
VALUES (:due_at, :ids, :acts::int2 [], :states, :epochs)

-- name: release_completed
-- settle: tasks of jobs have completed: let those wait to be claimed that needed nothing else, and count for the others.
-- Their jobs are locked. Nothing is done if that would skip a task, because nothing it needs has failed. Those that
-- are not blocked any more, as they were cancelled or skipped, are left alone; what is counted for them nobody reads.
--   transition  blocked -> queued
-- GIVES one row: what waits now, as arrays, which are read faster than thousands of rows; and whether the rules of
-- core/following.py have to be asked
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

needing AS MATERIALIZED (
    SELECT
        edge.child AS id,
        member.pending - edge.done AS pending,
        greatest((SELECT clock.now FROM clock) + member.delay_ms, coalesce(member.run_at, 0)) AS due_at,
        member.pending = edge.done AND member.run_if = 2 AND member.bad = 0 AS is_not_needed
    FROM (
        SELECT child.id AS child, count(*)::int4 AS done
        FROM (SELECT e.child AS id FROM drumline.task_edge AS e WHERE e.parent = any(:ids::uuid []) OFFSET 0) AS child
        GROUP BY child.id
        ORDER BY child.id -- neighbours are looked up one after the other
        OFFSET 0
    ) AS edge
    CROSS JOIN LATERAL (
        SELECT m.pending, m.bad, m.run_if, m.delay_ms, m.run_at
        FROM drumline.job_task AS m
        WHERE m.task_id = edge.child
        OFFSET 0
    ) AS member
),

asked AS MATERIALIZED (
    SELECT count(*) > 0 AS is_asked FROM needing WHERE needing.is_not_needed
),

ready AS MATERIALIZED (
    SELECT array_agg(n.id ORDER BY n.id) AS ids, array_agg(n.due_at ORDER BY n.id) AS due_at
    FROM needing AS n
    WHERE n.pending = 0 AND NOT (SELECT asked.is_asked FROM asked)
),

waiting AS MATERIALIZED (
    SELECT array_agg(n.id ORDER BY n.id) AS ids, array_agg(n.pending ORDER BY n.id) AS pending
    FROM needing AS n
    WHERE n.pending > 0 AND NOT (SELECT asked.is_asked FROM asked)
),

released AS (
    UPDATE drumline.task_live AS live
    SET
        state = 1,
        due_at = (SELECT ready.due_at FROM ready)[width_bucket(live.id, (SELECT ready.ids FROM ready))]
    WHERE live.id = any((SELECT ready.ids FROM ready)::uuid []) AND live.state = 0
    RETURNING live.id, live.lane, live.due_at, live.epoch
),

counted AS (
    UPDATE drumline.job_task AS member
    SET pending = (SELECT waiting.pending FROM waiting)[width_bucket(member.task_id, (SELECT waiting.ids FROM waiting))]
    WHERE member.task_id = any((SELECT waiting.ids FROM waiting)::uuid [])
),

told AS (
    INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
    SELECT
        (SELECT clock.now FROM clock),
        array_agg(released.id),
        array_fill(:act::int2, ARRAY[count(*)::int4]),
        array_fill(1::int2, ARRAY[count(*)::int4]),
        array_agg(released.epoch)
    FROM released
    HAVING count(*) > 0
)

SELECT
    array_agg(released.id) AS ids, array_agg(released.lane) AS lanes, array_agg(released.due_at) AS due_at,
    (SELECT asked.is_asked FROM asked) AS is_asked
FROM released

-- name: unblock
-- every act that ends tasks: let blocked tasks wait to be claimed. Their jobs are locked.
--   transition  blocked -> queued
--   :ids        sorted; a task's own delay counts from now, and it is not due before its run_at
-- GIVES one row: what waits now, as arrays
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

due AS MATERIALIZED (
    SELECT
        array_agg(m.task_id ORDER BY m.task_id) AS ids,
        array_agg(
            greatest((SELECT clock.now FROM clock) + m.delay_ms, coalesce(m.run_at, 0)) ORDER BY m.task_id
        ) AS due_at
    FROM drumline.job_task AS m
    WHERE m.task_id = any(:ids::uuid [])
),

released AS (
    UPDATE drumline.task_live AS live
    SET
        state = 1,
        due_at = (SELECT due.due_at FROM due)[width_bucket(live.id, (SELECT due.ids FROM due))]
    WHERE live.id = any(:ids) AND live.state = 0
    RETURNING live.id, live.lane, live.due_at, live.epoch
),

told AS (
    INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
    SELECT
        (SELECT clock.now FROM clock),
        array_agg(released.id),
        array_fill(:act::int2, ARRAY[count(*)::int4]),
        array_fill(1::int2, ARRAY[count(*)::int4]),
        array_agg(released.epoch)
    FROM released
    HAVING count(*) > 0
)

SELECT array_agg(released.id) AS ids, array_agg(released.lane) AS lanes, array_agg(released.due_at) AS due_at
FROM released

-- name: tally
-- every act that ends tasks: count them in their jobs, which are locked. A job whose tasks have all ended has ended
-- itself: it failed if a task did, or a job that it depends on; else it was cancelled if a task was; else it completed.
-- Then those who wait for it have to be told.
--   :ids …  arrays of equal length, sorted by id, each once; :ended is the sum of the four before it
-- GIVES the jobs as they stand after it
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
        AND (SELECT true FROM drumline.job_dep AS dep WHERE dep.needs_job = job.id AND NOT dep.is_done LIMIT 1)
)

SELECT
    job.id, job.tenant, job.name, job.owner, job.status, job.options, job.total, job.completed, job.failed,
    job.cancelled, job.skipped, job.pending_jobs, job.reason, job.cancel_requested, job.created_at, job.started_at,
    job.finished_at, job.idempotency_key, job.schedule_id, job.fire_time, job.version
FROM job

-- name: lock_jobs
-- every act that ends tasks of jobs or brings them back: lock the jobs first, and with them their whole graphs.
-- GIVES the jobs as they stand
SELECT
    job.id, job.tenant, job.name, job.owner, job.status, job.options, job.total, job.completed, job.failed,
    job.cancelled, job.skipped, job.pending_jobs, job.reason, job.cancel_requested, job.created_at, job.started_at,
    job.finished_at, job.idempotency_key, job.schedule_id, job.fire_time, job.version
FROM drumline.job
WHERE job.id = any(:ids::uuid [])
ORDER BY job.id
FOR NO KEY UPDATE

-- name: children
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

-- name: descendants
-- every act that ends tasks: the blocked tasks that need one of these, or one that needs one, and so on.
-- GIVES as children.sql; the parents are those of :ids, and blocked ones that were reached
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

-- name: blame
-- every act that ends tasks: because of which task others were skipped.
--   :ids, :causes  arrays of equal length, sorted by id, each once
UPDATE drumline.job_task AS member
SET cause = (:causes::uuid [])[width_bucket(member.task_id, :ids::uuid [])]
WHERE member.task_id = any(:ids)

-- name: ripples
-- ripple: jobs that have ended, whose dependents may have to be told.
SELECT ripple.seq, ripple.job_id FROM drumline.job_ripple AS ripple
ORDER BY ripple.seq
LIMIT 100

-- name: jobs_waiting_for
-- ripple: jobs that wait for another.
SELECT waiting.job_id
FROM (SELECT dep.job_id FROM drumline.job_dep AS dep WHERE dep.needs_job = :needed::uuid AND NOT dep.is_done OFFSET 0) AS waiting
ORDER BY waiting.job_id
LIMIT :limit::int4

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
UPDATE drumline.job SET pending_jobs = pending_jobs - 1 WHERE id = :job::uuid

-- name: fail_job
-- ripple: a job fails because of another. Its tasks are skipped in the same transaction.
UPDATE drumline.job SET failed_by = :needed::uuid, reason = :reason::text, pending_jobs = 0 WHERE id = :job::uuid

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
ON CONFLICT DO NOTHING
RETURNING id

-- name: insert_deps
-- submit: which jobs wait for which.
--   :jobs …  arrays of equal length
INSERT INTO drumline.job_dep (job_id, needs_job, is_done)
SELECT g.job, g.needed, g.is_done
FROM unnest(:jobs::uuid [], :needed::uuid [], :done::bool []) AS g (job, needed, is_done)

-- name: submit_in_jobs
-- submit: store the tasks of new jobs; those that need others, or whose job waits, are blocked.
--   :ids …   arrays of equal length
--   :act     the number of the act, for the outbox
-- GIVES the time of the submission; a task without run_at is due its delay after it, unless it is blocked
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

given AS MATERIALIZED (
    SELECT
        g.id, g.lane, g.payload, g.options, g.delay, g.run_at, g.state, g.job, g.key, g.pending, g.run_if,
        coalesce(g.run_at, (SELECT clock.now FROM clock) + g.delay) AS due_at
    FROM
        unnest(
            :ids::uuid [], :lanes::int4 [], :payloads::bytea [], :options::text [], :delays::int8 [], :run_at::int8 [],
            :states::int2 [], :jobs::uuid [], :keys::text [], :pending::int4 [], :run_ifs::int2 []
        ) AS g (id, lane, payload, options, delay, run_at, state, job, key, pending, run_if)
),

wide AS (
    INSERT INTO drumline.task (id, lane, payload, options, due_at, created_at)
    SELECT g.id, g.lane, g.payload, g.options, g.due_at, (SELECT clock.now FROM clock) FROM given AS g
),

live AS (
    INSERT INTO drumline.task_live (id, lane, due_at, state, in_job)
    SELECT g.id, g.lane, CASE WHEN g.state = 1 THEN g.due_at END, g.state, true FROM given AS g
),

member AS (
    INSERT INTO drumline.job_task (task_id, job_id, key, run_if, pending, delay_ms, run_at)
    SELECT g.id, g.job, g.key, g.run_if, g.pending, g.delay, g.run_at FROM given AS g
)

INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
SELECT
    clock.now,
    :ids,
    array_fill(:act::int2, ARRAY[cardinality(:ids)]),
    :states,
    array_fill(0::int4, ARRAY[cardinality(:ids)])
FROM clock
RETURNING at

-- name: insert_edges
-- submit: which tasks need which.
--   :parents, :children  arrays of equal length
INSERT INTO drumline.task_edge (parent, child)
SELECT g.parent, g.child FROM unnest(:parents::uuid [], :children::uuid []) AS g (parent, child)

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

-- name: known_jobs
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

-- name: job_keys
-- submit: the tasks of jobs by key, in the order in which they were given.
SELECT member.job_id, member.key, member.task_id
FROM (
    SELECT m.job_id, m.key, m.task_id FROM drumline.job_task AS m WHERE m.job_id = any(:ids::uuid []) OFFSET 0
) AS member
ORDER BY member.task_id
