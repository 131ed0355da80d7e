-- get schedules: as they stand.
SELECT
    schedule.id, schedule.tenant, schedule.name, schedule.rule, schedule.policy, schedule.target, live.state, live.fire_at,
    live.due_at, live.version, schedule.created_at, live.changed_at, schedule.app, schedule.module, live.reason, live.runs,
    live.skipped, live.missed, live.waiting, live.last_fire_time, live.last_task, live.last_job
FROM drumline.schedule
CROSS JOIN LATERAL (SELECT l.* FROM drumline.schedule_live AS l WHERE l.id = schedule.id OFFSET 0) AS live
WHERE schedule.id = any(:ids::uuid [])
