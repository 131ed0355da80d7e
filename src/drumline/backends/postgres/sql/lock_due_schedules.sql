-- fire: lock the schedules that are due and that nobody else is firing, the earliest first, and tell whether the previous
-- run of each goes on. The order of the columns is that of backends/schedule_rows.py: DueRow, after the time.
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

due AS MATERIALIZED (
    SELECT live.id, live.due_at, live.fire_at, live.runs, live.waiting, live.last_task, live.last_job
    FROM drumline.schedule_live AS live
    WHERE live.due_at <= (SELECT clock.now FROM clock)
    ORDER BY live.due_at
    LIMIT :limit::int4
    FOR UPDATE SKIP LOCKED
)

SELECT
    clock.now, due.id::text, schedule.tenant, schedule.name, schedule.rule, schedule.policy, schedule.target, due.fire_at,
    due.runs, due.waiting, due.last_task::text, due.last_job::text,
    CASE
        -- By default nobody asks. OFFSET 0 keeps the planner from reading all tasks to have them at hand.
        WHEN schedule.policy = '{}' THEN false
        ELSE
            EXISTS (SELECT FROM drumline.task_live WHERE task_live.id = due.last_task OFFSET 0)
            OR EXISTS (SELECT FROM drumline.job WHERE job.id = due.last_job AND job.finished_at IS NULL OFFSET 0)
    END
FROM clock
CROSS JOIN due
CROSS JOIN LATERAL (SELECT s.* FROM drumline.schedule AS s WHERE s.id = due.id OFFSET 0) AS schedule
ORDER BY due.due_at, due.id
