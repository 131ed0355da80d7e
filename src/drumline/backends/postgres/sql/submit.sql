-- submit: store tasks and let them wait to be claimed.
--   :ids … :keys   arrays of equal length; an empty one means that :usual_… holds for each task, or that none has a key
--   :act           the number of the act, for the outbox
-- GIVES the time of the submission; a task without run_at is due its delay after it
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

given AS MATERIALIZED (
    SELECT
        g.id,
        coalesce(g.lane, :usual_lanes::int4) AS lane,
        coalesce(g.payload, :usual_payloads::bytea) AS payload,
        coalesce(g.options, :usual_options::text) AS options,
        g.key,
        coalesce(
            g.run_at,
            :usual_run_at::int8,
            (SELECT clock.now FROM clock) + coalesce(g.delay, :usual_delays::int8)
        ) AS due_at
    FROM
        unnest(
            :ids::uuid [], :lanes::int4 [], :payloads::bytea [],
            :options::text [], :run_at::int8 [], :delays::int8 [], :keys::text []
        ) AS g (id, lane, payload, options, run_at, delay, key)
),

wide AS (
    INSERT INTO drumline.task (id, lane, payload, options, idempotency_key, due_at, created_at)
    SELECT g.id, g.lane, g.payload, g.options, g.key, g.due_at, (SELECT clock.now FROM clock) FROM given AS g
),

live AS (
    INSERT INTO drumline.task_live (id, lane, due_at)
    SELECT g.id, g.lane, g.due_at FROM given AS g
)

INSERT INTO drumline.outbox (lane, at, tasks, acts, states, epochs)
SELECT
    :usual_lanes,
    clock.now,
    :ids,
    array_fill(:act::int2, ARRAY[cardinality(:ids)]),
    array_fill(1::int2, ARRAY[cardinality(:ids)]),
    array_fill(0::int4, ARRAY[cardinality(:ids)])
FROM clock
RETURNING at
