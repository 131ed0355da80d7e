-- settle: end tasks whose attempt completed, failed for good, or was stopped.
--   transition  running -> completed, failed, cancelled
--   fence       epoch and nonce both match; whoever deletes the live row, and nobody else, writes the end
--   :ids …      arrays of equal length, sorted by id, each once; an empty one means that :usual_… holds for each
--   :in_job     whether they belong to jobs, which then are locked; the others are left alone
-- GIVES how many ended, and their ids if not all did; no row if none did
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

ended AS (
    DELETE FROM drumline.task_live AS live
    WHERE
        live.id = any(:ids::uuid [])
        AND live.state = 2
        AND live.in_job = :in_job::bool
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
            WHEN cardinality(:outcomes::int2 []) + cardinality(:acts::int2 [])
                + cardinality(:results::bytea []) + cardinality(:errors::text []) > 0
                THEN width_bucket(live.id, :ids)
        END AS place
),

written AS (
    INSERT INTO drumline.attempt (
        task_id, nonce, session, due_at, started_at, finished_at, epoch, lane, attempt, outcome, result, error
    )
    SELECT
        e.id, e.nonce, e.session, e.due_at, e.started_at, (SELECT clock.now FROM clock), e.epoch, e.lane, e.attempt,
        coalesce((:outcomes)[e.place], :usual_outcomes::int2),
        coalesce((:results)[e.place], :usual_results::bytea),
        coalesce((:errors)[e.place], :usual_errors::text)
    FROM ended AS e
)

INSERT INTO drumline.outbox (lane, lanes, at, tasks, acts, states, epochs, waits, runs)
SELECT
    CASE WHEN min(e.lane) = max(e.lane) THEN min(e.lane) END,
    CASE WHEN min(e.lane) < max(e.lane) THEN array_agg(e.lane) END,
    (SELECT clock.now FROM clock),
    array_agg(e.id),
    array_agg(coalesce((:acts)[e.place], :usual_acts::int2)),
    array_agg(coalesce((:outcomes)[e.place], :usual_outcomes)),
    array_agg(e.epoch),
    array_agg(CASE WHEN e.attempt = 1 THEN least(greatest(e.started_at - e.due_at, 0), 2147483647)::int4 END),
    array_agg(least((SELECT clock.now FROM clock) - e.started_at, 2147483647)::int4)
FROM ended AS e
HAVING count(*) > 0
RETURNING
    cardinality(tasks) AS count,
    CASE WHEN cardinality(tasks) < cardinality(:ids) THEN tasks END AS ids
