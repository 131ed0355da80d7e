-- start runs: of each schedule the oldest run that waits for the one before it, if that has ended; the schedules are
-- locked. The order of the columns is that of backends/schedule_rows.py: WaitingRow, after the time.
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

free AS MATERIALIZED (
    SELECT live.id
    FROM drumline.schedule_live AS live
    WHERE
        live.waiting > 0
        AND live.state <> 1
        -- OFFSET 0 keeps the planner from joining: on empty tables reading all jobs looks as good as a look by key.
        AND NOT EXISTS (SELECT FROM drumline.task_live WHERE task_live.id = live.last_task OFFSET 0)
        AND NOT EXISTS (
            SELECT FROM drumline.job WHERE job.id = live.last_job AND job.finished_at IS NULL OFFSET 0
        )
    ORDER BY live.id
    LIMIT :limit::int4
    FOR UPDATE OF live SKIP LOCKED
)

SELECT clock.now, free.id::text, schedule.tenant, schedule.name, schedule.target, run.fire_time, run.kind, true
FROM clock
CROSS JOIN free
CROSS JOIN LATERAL (SELECT s.* FROM drumline.schedule AS s WHERE s.id = free.id OFFSET 0) AS schedule
CROSS JOIN LATERAL (
    SELECT r.fire_time, r.kind
    FROM drumline.schedule_run AS r
    WHERE r.schedule_id = free.id AND r.state = 1 AND r.start_at IS NULL
    ORDER BY r.fire_time
    LIMIT 1
) AS run
