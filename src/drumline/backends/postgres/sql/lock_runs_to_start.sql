-- start runs: lock those of backfills whose time has come, the earliest first.
-- GIVES the time, then the columns of backends/schedule_rows.py: WaitingRow
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

run AS MATERIALIZED (
    SELECT r.schedule_id, r.fire_time, r.kind, r.start_at
    FROM drumline.schedule_run AS r
    WHERE r.state = 1 AND r.start_at IS NOT NULL AND r.start_at <= (SELECT clock.now FROM clock)
    ORDER BY r.start_at
    LIMIT :limit::int4
    FOR UPDATE SKIP LOCKED
)

SELECT
    clock.now, run.schedule_id::text, schedule.tenant, schedule.name, schedule.target, run.fire_time, run.kind, false
FROM clock
CROSS JOIN run
CROSS JOIN LATERAL (SELECT s.* FROM drumline.schedule AS s WHERE s.id = run.schedule_id OFFSET 0) AS schedule
ORDER BY run.start_at, run.fire_time
