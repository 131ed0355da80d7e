-- list runs: the latest fire time first.
SELECT schedule_id, fire_time, kind, state, created_at, start_at, task_id, job_id, reason
FROM schedule_run
WHERE
    schedule_id = :schedule
    AND fire_time < :before
    AND (
        :tenant IS NULL
        OR EXISTS (SELECT 1 FROM schedule WHERE schedule.id = :schedule AND schedule.tenant = :tenant)
    )
ORDER BY fire_time DESC
LIMIT :limit
