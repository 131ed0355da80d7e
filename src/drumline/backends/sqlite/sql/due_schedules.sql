-- fire: the schedules that are due, the earliest first, and whether the previous run of each goes on.
-- GIVES rows in the order of backends/schedule_rows.py: DueRow, as one JSON list
SELECT
    json_group_array(
        json_array(
            due.id, schedule.tenant, schedule.name, schedule.rule, schedule.policy, schedule.target, due.fire_at, due.runs,
            due.waiting, due.last_task, due.last_job,
            CASE
                -- By default nobody asks.
                WHEN schedule.policy = '{}' THEN 0
                ELSE
                    EXISTS (SELECT 1 FROM task_live WHERE id = due.last_task)
                    OR EXISTS (SELECT 1 FROM job WHERE id = due.last_job AND finished_at IS NULL)
            END
        )
    )
FROM (
    SELECT id, fire_at, runs, waiting, last_task, last_job
    FROM schedule_live
    WHERE due_at <= :now
    ORDER BY due_at
    LIMIT :limit
) AS due
CROSS JOIN schedule ON due.id = schedule.id
