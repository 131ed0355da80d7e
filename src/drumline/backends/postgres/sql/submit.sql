-- submit: store tasks and let them wait to be claimed.
--   :ids … :keys   arrays of equal length; an empty one means that :usual_… holds for each task, or that none has a key
--   :act           the number of the act, for the outbox
-- GIVES the time of the submission; a task without run_at is due its delay after it
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

wide AS (
    INSERT INTO drumline.task (id, lane, payload, options, idempotency_key, due_at, created_at)
    SELECT
        g.id,
        coalesce(g.lane, :usual_lanes::int4),
        coalesce(g.payload, :usual_payloads::bytea),
        coalesce(g.options, :usual_options::text),
        g.key,
        coalesce(
            g.run_at, :usual_run_at::int8, (SELECT clock.now FROM clock) + coalesce(g.delay, :usual_delays::int8)
        ),
        (SELECT clock.now FROM clock)
    FROM (
        -- Side by side as columns of a SELECT: as a table they would be written down first.
        SELECT
            unnest(:ids::uuid []) AS id, unnest(:lanes::int4 []) AS lane, unnest(:payloads::bytea []) AS payload,
            unnest(:options::text []) AS options, unnest(:run_at::int8 []) AS run_at,
            unnest(:delays::int8 []) AS delay, unnest(:keys::text []) AS key
    ) AS g
),

live AS (
    INSERT INTO drumline.task_live (id, lane, due_at)
    SELECT
        g.id,
        coalesce(g.lane, :usual_lanes),
        coalesce(g.run_at, :usual_run_at, (SELECT clock.now FROM clock) + coalesce(g.delay, :usual_delays))
    FROM (
        SELECT
            unnest(:ids) AS id, unnest(:lanes) AS lane, unnest(:run_at) AS run_at, unnest(:delays) AS delay
    ) AS g
)

INSERT INTO drumline.outbox (lane, lanes, at, tasks, acts, states, epochs)
SELECT
    :usual_lanes,
    CASE WHEN cardinality(:lanes) > 0 THEN :lanes END,
    clock.now,
    :ids,
    array_fill(:act::int2, ARRAY[cardinality(:ids)]),
    array_fill(1::int2, ARRAY[cardinality(:ids)]),
    array_fill(0::int4, ARRAY[cardinality(:ids)])
FROM clock
RETURNING at
