-- start runs: of each schedule the oldest run that waits for the one before it, if that has ended. They are locked.
-- GIVES rows in the order of backends/schedule_rows.py: WaitingRow
SELECT live.id::text, schedule.tenant, schedule.name, schedule.target, run.fire_time, run.kind, true
FROM drumline.schedule_live AS live
CROSS JOIN LATERAL (SELECT s.* FROM drumline.schedule AS s WHERE s.id = live.id OFFSET 0) AS schedule
CROSS JOIN LATERAL (
    SELECT r.fire_time, r.kind
    FROM drumline.schedule_run AS r
    WHERE r.schedule_id = live.id AND r.state = 1 AND r.start_at IS NULL
    ORDER BY r.fire_time
    LIMIT 1
) AS run
WHERE
    live.id = any(:ids::uuid [])
    AND NOT EXISTS (SELECT FROM drumline.task_live WHERE task_live.id = live.last_task OFFSET 0)
    AND NOT EXISTS (SELECT FROM drumline.job WHERE job.id = live.last_job AND job.finished_at IS NULL OFFSET 0)
ORDER BY live.id
