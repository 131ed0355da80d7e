-- record: write what became of tries.
--   transition  pending -> pending (due again), delivered, failed
--   fence       :holder still has it
--   :ids …      arrays of equal length
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
)

UPDATE drumline.delivery AS d
SET
    state = g.state,
    holder = 0,
    next_at = CASE WHEN g.state = 0 THEN clock.now + g.delay END,
    finished_at = CASE WHEN g.state <> 0 THEN clock.now END,
    status = g.status,
    response = g.response,
    error = g.error,
    latency_ms = g.latency
FROM
    clock,
    unnest(
        :ids::uuid [], :states::int2 [], :delays::int8 [], :statuses::int2 [], :responses::text [], :errors::text [],
        :latencies::int4 []
    ) AS g (id, state, delay, status, response, error, latency)
WHERE d.id = g.id AND d.state = 0 AND d.holder = :holder::int8
RETURNING d.id, d.subscription
