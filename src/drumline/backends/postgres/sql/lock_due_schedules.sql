-- fire: lock the schedules that are due and that nobody else is firing, the earliest first. What they are is read by
-- due_schedules.sql, once they are locked: beside the row that it locks, a statement may see what was before that.
-- GIVES one row: the time, and the schedules; none of them if nothing is due
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

due AS MATERIALIZED (
    SELECT live.id
    FROM drumline.schedule_live AS live
    WHERE live.due_at <= (SELECT clock.now FROM clock)
    ORDER BY live.due_at
    LIMIT :limit::int4
    FOR UPDATE SKIP LOCKED
)

SELECT clock.now, ARRAY(SELECT due.id FROM due) AS ids FROM clock
