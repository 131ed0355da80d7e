-- name: release_completed
-- settle: tasks of jobs have completed: let those wait to be claimed that needed nothing else, and count for the others.
-- Their jobs are locked. Nothing is done if that would skip a task, because nothing it needs has failed. Those that
-- are not blocked any more, as they were cancelled or skipped, are left alone; what is counted for them is never read.
--   transition  blocked -> queued
-- GIVES one row: what waits now, as arrays, which are read faster than thousands of rows; and whether the rules of
-- core/job_steps.py have to be asked
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
