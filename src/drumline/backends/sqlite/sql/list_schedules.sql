-- list schedules: newest first. What is NULL does not narrow.
--   :before  ids below this one
SELECT
    schedule.id, schedule.tenant, schedule.name, schedule.rule, schedule.policy, schedule.target, live.state, live.fire_at,
    live.due_at, live.version, schedule.created_at, live.changed_at, schedule.app, schedule.module, live.reason, live.runs,
    live.skipped, live.missed, live.waiting, live.last_fire_time, live.last_task, live.last_job
FROM schedule
CROSS JOIN schedule_live AS live ON schedule.id = live.id
WHERE
    (:before IS NULL OR schedule.id < :before)
    AND (:tenant IS NULL OR schedule.tenant = :tenant)
    AND (:name IS NULL OR schedule.name = :name)
    AND (:app IS NULL OR schedule.app = :app)
    AND (:state IS NULL OR live.state = :state)
ORDER BY schedule.id DESC
LIMIT :limit
