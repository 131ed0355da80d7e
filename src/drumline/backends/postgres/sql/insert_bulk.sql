-- begin a bulk operation. One without tasks has ended at once.
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
)

INSERT INTO drumline.bulk (id, tenant, act, request, rate, state, total, tokens_at, created_at, finished_at)
SELECT
    :id::uuid, :tenant::text, :act::text, :request::text, :rate::float8,
    CASE WHEN :total::int4 > 0 THEN 'running' ELSE 'completed' END,
    :total, clock.now, clock.now,
    CASE WHEN :total > 0 THEN NULL ELSE clock.now END
FROM clock
