-- list runs: the latest fire time first.
SELECT schedule_id, fire_time, kind, state, created_at, start_at, task_id, job_id, reason
FROM drumline.schedule_run
WHERE
    schedule_id = :schedule::uuid
    AND fire_time < :before::int8
    AND (
        :tenant::text IS NULL
        OR EXISTS (SELECT FROM drumline.schedule WHERE schedule.id = :schedule AND schedule.tenant = :tenant)
    )
ORDER BY fire_time DESC
LIMIT :limit::int4
