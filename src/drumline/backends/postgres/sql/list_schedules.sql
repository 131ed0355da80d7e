-- list schedules: newest first. What is NULL does not narrow.
--   :before  ids below this one
SELECT
    schedule.id, schedule.tenant, schedule.name, schedule.rule, schedule.policy, schedule.target, live.state, live.fire_at,
    live.due_at, live.version, schedule.created_at, live.changed_at, schedule.app, schedule.module, live.reason, live.runs,
    live.skipped, live.missed, live.waiting, live.last_fire_time, live.last_task, live.last_job
FROM drumline.schedule
INNER JOIN drumline.schedule_live AS live ON schedule.id = live.id
WHERE
    schedule.id < :before::uuid
    AND (:tenant::text IS NULL OR schedule.tenant = :tenant)
    AND (:name::text IS NULL OR schedule.name = :name)
    AND (:app::text IS NULL OR schedule.app = :app)
    AND (:state::int2 IS NULL OR live.state = :state)
ORDER BY schedule.id DESC
LIMIT :limit::int4
