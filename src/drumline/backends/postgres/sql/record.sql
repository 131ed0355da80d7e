-- settle, reap, cancel: write what was decided about tasks whose live rows this transaction has locked.
--   transition  as decided: :states is queued or an end
--   fence       the epoch of a task that is queued rises
--   :ids …      arrays of equal length, sorted by id, each once; :epochs is that of the attempt
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

ended AS (
    DELETE FROM drumline.task_live AS live
    WHERE live.id = any(:ids::uuid []) AND (:states::int2 [])[width_bucket(live.id, :ids)] >= 3
),

queued AS (
    UPDATE drumline.task_live AS live
    SET
        state = (:states)[width_bucket(live.id, :ids)],
        epoch = live.epoch + 1,
        due_at = (:due_at::int8 [])[width_bucket(live.id, :ids)],
        attempt = (:counted::int4 [])[width_bucket(live.id, :ids)],
        failures = (:failures::int4 [])[width_bucket(live.id, :ids)],
        crashes = (:crashes::int4 [])[width_bucket(live.id, :ids)],
        nonce = 0,
        session = 0,
        started_at = 0
    WHERE live.id = any(:ids) AND (:states)[width_bucket(live.id, :ids)] < 3
),

written AS (
    INSERT INTO drumline.attempt (
        task_id, nonce, session, started_at, finished_at, epoch, lane, attempt, outcome, result, error
    )
    SELECT
        g.id, g.nonce, g.session, g.started_at, (SELECT clock.now FROM clock), g.epoch, g.lane, g.attempt,
        g.outcome, g.result, g.error
    FROM
        unnest(
            :ids, :nonces::int8 [], :sessions::int8 [], :started_at::int8 [], :epochs::int4 [], :lanes::int4 [],
            :attempts::int4 [], :outcomes::int2 [], :results::bytea [], :errors::text []
        ) AS g (id, nonce, session, started_at, epoch, lane, attempt, outcome, result, error)
)

INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
SELECT clock.now, :ids, :acts::int2 [], :states, :epochs
FROM clock
