-- list runs: the latest fire time first.
SELECT schedule_id, fire_time, kind, state, created_at, start_at, task_id, job_id, reason
FROM drumline.schedule_run
WHERE
    schedule_id = :schedule::uuid
    AND fire_time < :before::int8
    -- compared with, not looked for: a plan made for few schedules would look through all that the tenant has
    AND (:tenant::text IS NULL OR :tenant = (SELECT tenant FROM drumline.schedule WHERE id = :schedule))
ORDER BY fire_time DESC
LIMIT :limit::int4
