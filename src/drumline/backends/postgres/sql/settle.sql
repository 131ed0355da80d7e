-- settle: end tasks whose attempt completed, failed for good, or was stopped.
--   transition  running -> completed, failed, cancelled
--   fence       epoch and nonce both match; whoever deletes the live row, and nobody else, writes the end
--   :ids …      arrays of equal length, sorted by id; an empty one means that :usual_… holds for each
-- GIVES how many ended, and their ids if not all did; no row if none did
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

given AS MATERIALIZED (
    SELECT
        g.id,
        coalesce(g.epoch, :usual_epochs::int4) AS epoch,
        g.nonce,
        coalesce(g.act, :usual_acts::int2) AS act,
        coalesce(g.outcome, :usual_outcomes::int2) AS outcome,
        coalesce(g.result, :usual_results::bytea) AS result,
        coalesce(g.error, :usual_errors::text) AS error
    FROM unnest(
        :ids::uuid [], :epochs::int4 [], :nonces::int8 [], :acts::int2 [], :outcomes::int2 [],
        :results::bytea [], :errors::text []
    ) AS g (id, epoch, nonce, act, outcome, result, error)
),

ended AS (
    DELETE FROM drumline.task_live AS live USING given
    WHERE live.id = given.id AND live.epoch = given.epoch AND live.nonce = given.nonce AND live.state = 2
    RETURNING given.*, live.lane, live.attempt, live.session, live.started_at
),

written AS (
    INSERT INTO drumline.attempt (
        task_id, nonce, session, started_at, finished_at, epoch, lane, attempt, outcome, result, error
    )
    SELECT
        e.id, e.nonce, e.session, e.started_at, (SELECT clock.now FROM clock), e.epoch, e.lane, e.attempt, e.outcome, e.result, e.error
    FROM ended AS e
)

INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
SELECT (SELECT clock.now FROM clock), array_agg(e.id), array_agg(e.act), array_agg(e.outcome), array_agg(e.epoch)
FROM ended AS e
HAVING count(*) > 0
RETURNING
    cardinality(tasks) AS count,
    CASE WHEN cardinality(tasks) < cardinality(:ids) THEN tasks END AS ids
