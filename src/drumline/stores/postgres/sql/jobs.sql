-- name: complete_in_jobs
-- settle: tasks of jobs have completed: end them, let those wait to be claimed that needed nothing else, count for the
-- others, and count the ends in the jobs, which are locked.
--   transition  running -> completed, blocked -> queued
--   fence       epoch and nonce both match; whoever deletes the live row, and nobody else, writes the end
--   :ids …      arrays of equal length, sorted by id, each once; an empty one means that :usual_… holds for each
-- Nothing is released or counted if that would skip a task, because nothing it needs has failed. Those that are not
-- blocked any more, as they were cancelled or skipped, are left alone; what is counted for them is never read.
-- GIVES one row: the tasks that ended and when they were started; what waits now, as arrays, which are read faster than
-- thousands of rows; the jobs whose status has changed; and whether the rules of core/job_steps.py have to be asked
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

ended AS (
    DELETE FROM drumline.task_live AS live
    WHERE
        live.id = any(:ids::uuid [])
        AND live.state = 2
        AND live.in_job
        AND live.family = 0
        AND live.nonce = CASE
            WHEN cardinality(:nonces::int8 []) = 0 THEN :usual_nonces::int8
            ELSE (:nonces)[width_bucket(live.id, :ids)]
        END
        AND live.epoch = CASE
            WHEN cardinality(:epochs::int4 []) = 0 THEN :usual_epochs::int4
            ELSE (:epochs)[width_bucket(live.id, :ids)]
        END
    RETURNING
        live.id, live.epoch, live.nonce, live.lane, live.due_at, live.attempt, live.session, live.started_at,
        CASE
            WHEN cardinality(:results::bytea []) + cardinality(:jobs::uuid []) > 0 THEN width_bucket(live.id, :ids)
        END AS place
),

written AS (
    INSERT INTO drumline.attempt (
        task_id, nonce, session, due_at, started_at, finished_at, epoch, lane, attempt, outcome, result
    )
    SELECT
        e.id, e.nonce, e.session, e.due_at, e.started_at, (SELECT clock.now FROM clock), e.epoch, e.lane, e.attempt,
        :outcome::int2, coalesce((:results)[e.place], :usual_results::bytea)
    FROM ended AS e
),

done AS MATERIALIZED (
    SELECT array_agg(e.id) AS ids, array_agg(e.started_at) AS started_at FROM ended AS e
),

needing AS MATERIALIZED (
    SELECT
        edge.child AS id,
        member.pending - edge.done AS pending,
        greatest((SELECT clock.now FROM clock) + member.delay_ms, coalesce(member.run_at, 0)) AS due_at,
        member.pending = edge.done AND member.run_if = 2 AND member.bad = 0 AS is_not_needed
    FROM (
        SELECT child.id AS child, count(*)::int4 AS done
        FROM (
            SELECT e.child AS id FROM drumline.task_edge AS e
            WHERE e.parent = any((SELECT done.ids FROM done)::uuid [])
            OFFSET 0
        ) AS child
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

counts AS MATERIALIZED (
    SELECT
        array_agg(c.job ORDER BY c.job) AS jobs,
        array_agg(c.completed ORDER BY c.job) AS completed,
        array_agg(c.started_at ORDER BY c.job) AS started_at
    FROM (
        SELECT
            coalesce((:jobs)[e.place], :usual_jobs::uuid) AS job,
            count(*)::int4 AS completed,
            min(e.started_at) AS started_at
        FROM ended AS e
        GROUP BY 1
    ) AS c
    WHERE NOT (SELECT asked.is_asked FROM asked)
),

before AS MATERIALIZED (
    SELECT array_agg(j.status ORDER BY j.id) AS statuses
    FROM drumline.job AS j
    WHERE j.id = any((SELECT counts.jobs FROM counts)::uuid [])
),

job AS (
    UPDATE drumline.job AS j
    SET
        completed = j.completed + (SELECT c.completed FROM counts AS c)[width_bucket(j.id, (SELECT c.jobs FROM counts AS c))],
        version = j.version + 1,
        started_at = coalesce(
            j.started_at, (SELECT c.started_at FROM counts AS c)[width_bucket(j.id, (SELECT c.jobs FROM counts AS c))]
        ),
        status = CASE
            WHEN
                j.completed + j.failed + j.cancelled + j.skipped
                + (SELECT c.completed FROM counts AS c)[width_bucket(j.id, (SELECT c.jobs FROM counts AS c))] < j.total
                THEN CASE WHEN j.status = 1 AND j.started_at IS NULL THEN 2 ELSE j.status END
            WHEN j.failed > 0 OR j.failed_by IS NOT NULL THEN 4
            WHEN j.cancelled > 0 THEN 5
            ELSE 3
        END,
        finished_at = CASE
            WHEN
                j.completed + j.failed + j.cancelled + j.skipped
                + (SELECT c.completed FROM counts AS c)[width_bucket(j.id, (SELECT c.jobs FROM counts AS c))] = j.total
                THEN (SELECT clock.now FROM clock)
        END
    WHERE j.id = any((SELECT counts.jobs FROM counts)::uuid [])
    RETURNING j.id, j.status, j.name, j.finished_at
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
),

told AS (
    -- Rows of one statement, which are numbered as they come: the ends first.
    INSERT INTO drumline.outbox (lane, lanes, at, tasks, acts, states, epochs, waits, runs)
    (
        SELECT
            CASE WHEN min(e.lane) = max(e.lane) THEN min(e.lane) END,
            CASE WHEN min(e.lane) < max(e.lane) THEN array_agg(e.lane) END,
            (SELECT clock.now FROM clock),
            array_agg(e.id),
            array_fill(:act::int2, ARRAY[count(*)::int4]),
            array_fill(:outcome, ARRAY[count(*)::int4]),
            array_agg(e.epoch),
            array_agg(CASE WHEN e.attempt = 1 THEN least(greatest(e.started_at - e.due_at, 0), 2147483647)::int4 END),
            array_agg(least((SELECT clock.now FROM clock) - e.started_at, 2147483647)::int4)
        FROM ended AS e
        HAVING count(*) > 0
    )
    UNION ALL
    (
        SELECT
            NULL, NULL,
            (SELECT clock.now FROM clock),
            array_agg(r.id),
            array_fill(:unblock::int2, ARRAY[count(*)::int4]),
            array_fill(1::int2, ARRAY[count(*)::int4]),
            array_agg(r.epoch),
            NULL, NULL
        FROM released AS r
        HAVING count(*) > 0
    )
)

SELECT
    (SELECT done.ids FROM done) AS ended,
    (SELECT done.started_at FROM done) AS started_at,
    array_agg(r.id) AS ids, array_agg(r.lane) AS lanes, array_agg(r.due_at) AS due_at,
    ARRAY(
        SELECT job.id FROM job
        WHERE
            job.status
            <> (SELECT before.statuses FROM before)[width_bucket(job.id, (SELECT c.jobs FROM counts AS c))]
    ) AS changed,
    (SELECT asked.is_asked FROM asked) AS is_asked
FROM released AS r

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

-- name: submit_in_jobs
-- submit: store the tasks of new jobs; those that need others, or whose job waits, are blocked.
--   :ids …   arrays of equal length
--   :act     the number of the act, for the outbox
--   :slots …  the fence, as in submit
-- GIVES the time of the submission; a task without run_at is due its delay after it, unless it is blocked
WITH clock AS MATERIALIZED (
    SELECT
        coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now,
        drumline.fence(:slots::int4 [], :versions::int4 [], :oldest::int8 [])
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
