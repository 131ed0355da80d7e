-- submit: store one task that is due now, leased to a session that waits for it, if that can be given it.
--   transition  to running as by submit and claim, one after the other: the outbox has both, in this order
--   fence       epoch 1, and the nonce of the claim that waits
-- The session has to be open, not draining, and able to run the task by its own word; the queue must not be paused, and no
-- flow limit may concern the lane. Else the task is queued, as by submit.
-- GIVES the time of the submission, and whether the task is leased
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
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
