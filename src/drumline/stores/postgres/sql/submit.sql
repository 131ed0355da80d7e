-- name: submit
-- submit: store tasks and let them wait to be claimed.
--   :ids … :keys   arrays of equal length; an empty one means that :usual_… holds for each task, or that none has a key
--   :act           the number of the act, for the outbox
--   :slots …       the fence: raises DL001 unless these slots are open here
-- GIVES the time of the submission; a task without run_at is due its delay after it
WITH clock AS MATERIALIZED (
    SELECT
        coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now,
        drumline.fence(:slots::int4 [], :versions::int4 [], :oldest::int8 [])
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

-- name: submit_one
-- submit: the same for one task without an idempotency key; arrays are a sixth of what it costs the client.
--   :slot …        the fence, as in submit
-- GIVES the time of the submission
WITH clock AS MATERIALIZED (
    SELECT
        coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now,
        drumline.fence(ARRAY[:slot::int4], ARRAY[:version::int4], ARRAY[:made_at::int8])
),

wide AS (
    INSERT INTO drumline.task (id, lane, payload, options, due_at, created_at)
    SELECT
        :id::uuid, :lane::int4, :payload::bytea, :options::text, coalesce(:run_at::int8, clock.now + :delay::int8),
        clock.now
    FROM clock
),

live AS (
    INSERT INTO drumline.task_live (id, lane, due_at)
    SELECT :id, :lane, coalesce(:run_at, clock.now + :delay) FROM clock
)

INSERT INTO drumline.outbox (lane, at, tasks, acts, states, epochs)
SELECT :lane, clock.now, ARRAY[:id], ARRAY[:act::int2], ARRAY[1::int2], ARRAY[0::int4]
FROM clock
RETURNING at

-- name: submit_leased
-- submit: store one task that is due now, leased to a session that waits for it, if that can be given it.
--   transition  to running as by submit and claim, one after the other: the outbox has both, in this order
--   fence       epoch 1, and the nonce of the claim that waits
-- The session has to be open, not draining, and able to run the task by its own word; the queue must not be paused, and no
-- flow limit may concern the lane. Else the task is queued, as by submit.
--   :slots …    the fence, as in submit
-- GIVES the time of the submission, and whether the task is leased
WITH clock AS MATERIALIZED (
    SELECT
        coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now,
        drumline.fence(:slots::int4 [], :versions::int4 [], :oldest::int8 [])
),

taker AS MATERIALIZED (
    SELECT s.beat
    FROM (
        SELECT session.beat, session.spec::jsonb AS spec
        FROM drumline.session
        WHERE session.id = :session::int8 AND session.closed_at IS NULL AND NOT session.should_drain
        OFFSET 0
    ) AS s
    WHERE
        s.spec -> 'types' @> jsonb_build_array(jsonb_build_object('name', :name::text))
        AND (s.spec -> 'queues' = '[]' OR s.spec -> 'queues' @> to_jsonb(:queue::text))
        AND coalesce(s.spec ->> 'tenant', :tenant::text) = :tenant
        AND NOT EXISTS (
            SELECT FROM drumline.queue_pause AS p
            WHERE p.tenant = :tenant AND p.queue = :queue
        )
        AND NOT EXISTS (
            SELECT FROM drumline.flow_limit AS f
            WHERE
                f.tenant = :tenant
                AND coalesce(f.queue, :queue) = :queue
                AND coalesce(f.task, :name) = :name
        )
),

wide AS (
    INSERT INTO drumline.task (id, lane, payload, options, due_at, created_at)
    SELECT :id::uuid, :lane::int4, :payload::bytea, :options::text, clock.now, clock.now
    FROM clock
),

live AS (
    INSERT INTO drumline.task_live (id, lane, due_at, state, epoch, attempt, nonce, session, started_at)
    SELECT
        :id, :lane, clock.now,
        CASE WHEN taker.beat IS NULL THEN 1 ELSE 2 END,
        CASE WHEN taker.beat IS NULL THEN 0 ELSE 1 END,
        CASE WHEN taker.beat IS NULL THEN 0 ELSE 1 END,
        CASE WHEN taker.beat IS NULL THEN 0 ELSE :nonce::int8 END,
        CASE WHEN taker.beat IS NULL THEN 0 ELSE :session END,
        CASE WHEN taker.beat IS NULL THEN 0 ELSE clock.now END
    FROM clock
    LEFT JOIN taker ON true
),

noted AS (
    INSERT INTO drumline.claim (session, nonce, beat, tasks)
    SELECT :session, :nonce, taker.beat, ARRAY[:id]
    FROM taker
),

told AS (
    -- Two rows of one statement, which are numbered as they come.
    INSERT INTO drumline.outbox (lane, at, tasks, acts, states, epochs)
    SELECT :lane, clock.now, ARRAY[:id], ARRAY[:submit::int2], ARRAY[1::int2], ARRAY[0::int4]
    FROM clock
    UNION ALL
    SELECT NULL, clock.now, ARRAY[:id], ARRAY[:claim::int2], ARRAY[2::int2], ARRAY[1::int4]
    FROM clock
    CROSS JOIN taker
)

SELECT clock.now AS at, EXISTS (SELECT FROM taker) AS is_leased
FROM clock

-- name: insert_keys
-- submit: note whose idempotency keys are; a key that is known stays its first task's.
-- Waits for a concurrent submission of the same key to commit or fail. Keys come sorted, so that no two
-- submissions can wait for each other.
-- GIVES the keys that were new
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
)

INSERT INTO drumline.idempotency (tenant, key, task_id, fingerprint, due_at)
SELECT g.tenant, g.key, g.id, g.fingerprint, coalesce(g.run_at, clock.now + g.delay)
FROM
    unnest(
        :tenants::text [], :keys::text [], :ids::uuid [], :fingerprints::bytea [], :run_at::int8 [], :delays::int8 []
    ) AS g (tenant, key, id, fingerprint, run_at, delay),
    clock
ON CONFLICT DO NOTHING
RETURNING tenant, key

-- name: known_keys
-- submit: the tasks that idempotency keys belong to, and whether each is in this database: a drain takes tasks out and leaves
-- their keys. A statement after insert_keys, so that it sees what that waited for.
SELECT
    g.tenant, g.key, i.task_id, i.fingerprint, i.due_at,
    EXISTS (SELECT FROM drumline.task WHERE task.id = i.task_id OFFSET 0) AS is_here
FROM unnest(:tenants::text [], :keys::text []) AS g (tenant, key)
CROSS JOIN LATERAL (
    SELECT idempotency.task_id, idempotency.fingerprint, idempotency.due_at
    FROM drumline.idempotency
    WHERE idempotency.key = g.key AND idempotency.tenant = g.tenant
    OFFSET 0
) AS i

-- name: stored_ids
-- submit: which of these tasks are stored already, because an earlier answer was lost.
SELECT task.id, task.due_at FROM drumline.task WHERE task.id = any(:ids::uuid [])

-- name: open_slots
-- submit: which of these slots are open here, after a batch met the fence. A hint: what is stored next meets it again.
SELECT g.slot, g.version
FROM unnest(:slots::int4 [], :versions::int4 [], :oldest::int8 []) AS g (slot, version, oldest)
WHERE drumline.is_open(g.slot, g.version, g.oldest)
