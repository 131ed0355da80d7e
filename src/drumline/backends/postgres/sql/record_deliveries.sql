-- record: write what became of tries.
--   transition  pending -> pending (due again), delivered, failed
--   fence       :holder still has it
--   :ids …      arrays of equal length, sorted by id, each once
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

-- By id, and only then by state: else those who wait, who may be many, would look like a short way.
locked AS MATERIALIZED (
    SELECT l.id, l.state, l.holder FROM drumline.delivery AS l WHERE l.id = any(:ids::uuid []) FOR UPDATE
)

UPDATE drumline.delivery AS d
SET
    state = (:states::int2 [])[width_bucket(d.id, :ids)],
    holder = 0,
    next_at = CASE
        WHEN (:states)[width_bucket(d.id, :ids)] = 0
            THEN clock.now + (:delays::int8 [])[width_bucket(d.id, :ids)]
    END,
    finished_at = CASE WHEN (:states)[width_bucket(d.id, :ids)] <> 0 THEN clock.now END,
    status = (:statuses::int2 [])[width_bucket(d.id, :ids)],
    response = (:responses::text [])[width_bucket(d.id, :ids)],
    error = (:errors::text [])[width_bucket(d.id, :ids)],
    latency_ms = (:latencies::int4 [])[width_bucket(d.id, :ids)]
FROM clock
WHERE
    d.id = any(ARRAY(SELECT locked.id FROM locked WHERE locked.state = 0 AND locked.holder = :holder::int8))
RETURNING d.id, d.subscription
