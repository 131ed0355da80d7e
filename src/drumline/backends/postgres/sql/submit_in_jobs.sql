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
