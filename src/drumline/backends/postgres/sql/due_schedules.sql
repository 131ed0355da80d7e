-- fire: schedules that are due, the earliest first, and whether the previous run of each goes on. They are locked.
-- GIVES rows in the order of backends/schedule_rows.py: DueRow
SELECT
    live.id::text, schedule.tenant, schedule.name, schedule.rule, schedule.policy, schedule.target, live.fire_at,
    live.runs, live.waiting, live.last_task::text, live.last_job::text,
    CASE
        -- By default nobody asks. OFFSET 0 keeps the planner from reading all tasks to have them at hand.
        WHEN schedule.policy = '{}' THEN false
        ELSE
            EXISTS (SELECT FROM drumline.task_live WHERE task_live.id = live.last_task OFFSET 0)
            OR EXISTS (SELECT FROM drumline.job WHERE job.id = live.last_job AND job.finished_at IS NULL OFFSET 0)
    END
FROM drumline.schedule_live AS live
CROSS JOIN LATERAL (SELECT s.* FROM drumline.schedule AS s WHERE s.id = live.id OFFSET 0) AS schedule
WHERE live.id = any(:ids::uuid [])
ORDER BY live.due_at, live.id
