-- settle, reap, cancel: write what was decided about tasks whose live rows this transaction has locked.
--   transition  as decided: :states is queued or an end
--   fence       the epoch of a task that is queued rises
--   :ids …      arrays of equal length, sorted by id; :epochs is that of the attempt
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

given AS MATERIALIZED (
    SELECT g.*
    FROM unnest(
        :ids::uuid [], :acts::int2 [], :states::int2 [], :outcomes::int2 [], :epochs::int4 [], :nonces::int8 [],
        :lanes::int4 [], :attempts::int2 [], :sessions::int8 [], :started_at::int8 [], :results::bytea [],
        :errors::text [], :due_at::int8 [], :counted::int2 [], :failures::int2 [], :crashes::int2 []
    ) AS g (
        id, act, state, outcome, epoch, nonce,
        lane, attempt, session, started_at, result,
        error, due_at, counted, failures, crashes
    )
),

ended AS (
    DELETE FROM drumline.task_live AS live USING given
    WHERE live.id = given.id AND given.state >= 3
),

queued AS (
    UPDATE drumline.task_live AS live
    SET
        state = given.state,
        epoch = live.epoch + 1,
        due_at = given.due_at,
        attempt = given.counted,
        failures = given.failures,
        crashes = given.crashes,
        nonce = 0,
        session = 0,
        started_at = 0
    FROM given
    WHERE live.id = given.id AND given.state < 3
),

written AS (
    INSERT INTO drumline.attempt (
        task_id, nonce, session, started_at, finished_at, epoch, lane, attempt, outcome, result, error
    )
    SELECT
        g.id, g.nonce, g.session, g.started_at, (SELECT clock.now FROM clock), g.epoch, g.lane, g.attempt, g.outcome, g.result, g.error
    FROM given AS g
)

INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
SELECT clock.now, :ids, :acts, :states, :epochs
FROM clock
