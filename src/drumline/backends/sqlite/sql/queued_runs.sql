-- start runs: of each schedule the oldest run that waits for the one before it, if that has ended.
-- GIVES rows in the order of backends/schedule_rows.py: WaitingRow
SELECT live.id, schedule.tenant, schedule.name, schedule.target, run.fire_time, run.kind, 1
FROM schedule_live AS live
CROSS JOIN schedule ON live.id = schedule.id
CROSS JOIN schedule_run AS run ON live.id = run.schedule_id
WHERE
    live.waiting > 0
    AND live.state <> 1
    AND NOT EXISTS (SELECT 1 FROM task_live WHERE id = live.last_task)
    AND NOT EXISTS (SELECT 1 FROM job WHERE id = live.last_job AND finished_at IS NULL)
    AND run.fire_time = (
        -- Said outright: by its key alone all runs there ever were would be looked at.
        SELECT min(fire_time) FROM schedule_run INDEXED BY schedule_run_queued
        WHERE schedule_id = live.id AND state = 1 AND start_at IS NULL
    )
LIMIT :limit
