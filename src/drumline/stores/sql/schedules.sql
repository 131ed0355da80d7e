-- name: insert_schedules
-- add schedules: what was asked for; a name that its tenant has given already is left as it is.
-- Waits for a concurrent one of the same name. They come sorted by name, so that no two can wait for each other.
-- GIVES those that were new
INSERT INTO drumline.schedule (id, tenant, name, rule, policy, target, app, module, created_at)
SELECT
    g.id, g.tenant, g.name, g.rule, g.policy, g.target, g.app, g.module,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
FROM
    unnest(
        :ids::uuid [], :tenants::text [], :names::text [], :rules::text [], :policies::text [], :targets::text [],
        :apps::text [], :modules::text []
    ) AS g (id, tenant, name, rule, policy, target, app, module)
WHERE true
ON CONFLICT DO NOTHING
RETURNING id

-- name: insert_schedules_live
-- add schedules: where they stand at first.
INSERT INTO drumline.schedule_live (id, state, fire_at, due_at, changed_at)
SELECT g.id, g.state, g.fire_at, g.due_at, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
FROM unnest(:ids::uuid [], :states::int2 [], :fire_at::int8 [], :due_at::int8 []) AS g (id, state, fire_at, due_at)

-- name: schedules (postgres)
-- get schedules: as they stand.
SELECT
    schedule.id, schedule.tenant, schedule.name, schedule.rule, schedule.policy, schedule.target, live.state, live.fire_at,
    live.due_at, live.version, schedule.created_at, live.changed_at, schedule.app, schedule.module, live.reason, live.runs,
    live.skipped, live.missed, live.waiting, live.last_fire_time, live.last_task, live.last_job
FROM drumline.schedule
CROSS JOIN LATERAL (SELECT l.* FROM drumline.schedule_live AS l WHERE l.id = schedule.id OFFSET 0) AS live
WHERE schedule.id = any(:ids::uuid [])

-- name: schedules (sqlite)
-- get schedules: as they stand.
--   :ids  JSON list
SELECT
    schedule.id, schedule.tenant, schedule.name, schedule.rule, schedule.policy, schedule.target, live.state, live.fire_at,
    live.due_at, live.version, schedule.created_at, live.changed_at, schedule.app, schedule.module, live.reason, live.runs,
    live.skipped, live.missed, live.waiting, live.last_fire_time, live.last_task, live.last_job
FROM schedule
INNER JOIN schedule_live AS live ON schedule.id = live.id
WHERE schedule.id IN (SELECT value FROM json_each(:ids))

-- name: list_schedules
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

-- name: lock_schedules
-- change and delete schedules: lock them, in the order of their ids.
SELECT live.id FROM drumline.schedule_live AS live
WHERE live.id = any(:ids::uuid [])
ORDER BY live.id
FOR UPDATE

-- name: change_schedule
-- change schedules: what it is, unless another has the name.
-- GIVES a row if it was changed
UPDATE drumline.schedule AS s
SET
    name = :name::text,
    rule = :rule::text,
    policy = :policy::text,
    target = :target::text,
    app = :app::text,
    module = :module::text
WHERE
    s.id = :id::uuid
    AND NOT EXISTS (
        SELECT 1 FROM drumline.schedule AS other WHERE other.tenant = s.tenant AND other.name = :name AND other.id <> s.id
    )
RETURNING s.id

-- name: place_schedule
-- change schedules: where it stands.
UPDATE drumline.schedule_live
SET state = :state::int2, fire_at = :fire_at::int8, due_at = :due_at::int8, reason = :reason::text
WHERE id = :id::uuid

-- name: note_schedule_change
-- change schedules: that it was changed.
UPDATE drumline.schedule_live
SET version = version + 1, changed_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
WHERE id = :id::uuid

-- name: delete_schedule_runs
-- delete schedules: the notes of their runs.
DELETE FROM drumline.schedule_run WHERE schedule_id = any(:ids::uuid [])

-- name: delete_schedules_live
-- delete schedules: where they stood.
DELETE FROM drumline.schedule_live WHERE id = any(:ids::uuid [])

-- name: delete_schedules
-- delete schedules: what they were.
DELETE FROM drumline.schedule WHERE id = any(:ids::uuid [])

-- name: drop_runs
-- drop runs: forget those of a kind that wait for their time.
DELETE FROM drumline.schedule_run
WHERE schedule_id = :schedule::uuid AND kind = :kind::int2 AND state = 1 AND start_at IS NOT NULL
RETURNING fire_time

-- name: list_runs
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

-- name: fire_times
-- fire times: which in a span have a run that was not skipped.
SELECT fire_time FROM drumline.schedule_run
WHERE schedule_id = :schedule::uuid AND fire_time > :after::int8 AND fire_time <= :until::int8 AND state <> 2

-- name: watch
-- watch: the time, when a scheduler was last here, what is due next, and whether some run waits for another.
SELECT
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    (SELECT w.seen_at FROM drumline.schedule_watch AS w),
    coalesce((SELECT w.words FROM drumline.schedule_watch AS w), 0),
    (SELECT live.due_at FROM drumline.schedule_live AS live WHERE live.due_at IS NOT NULL ORDER BY live.due_at LIMIT 1),
    (
        SELECT run.start_at FROM drumline.schedule_run AS run
        WHERE run.state = 1 AND run.start_at IS NOT NULL
        ORDER BY run.start_at LIMIT 1
    ),
    EXISTS (SELECT 1 FROM drumline.schedule_live AS live WHERE live.waiting > 0)

-- name: note_watch
-- note watch: a scheduler is here.
INSERT INTO drumline.schedule_watch AS w (is_only, seen_at)
VALUES (true, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8))
ON CONFLICT (is_only) DO UPDATE SET seen_at = excluded.seen_at, words = w.words + 1

-- name: prune_runs (postgres)
-- prune runs: the notes of old ones, but for those that wait.
-- GIVES a row for each
DELETE FROM drumline.schedule_run
WHERE
    ctid = any(
        array(
            SELECT run.ctid
            FROM drumline.schedule_run AS run
            WHERE run.created_at < :before::int8 AND run.state <> 1
            ORDER BY run.created_at
            LIMIT :limit::int4
            FOR UPDATE SKIP LOCKED
        )
    )
RETURNING fire_time

-- name: prune_runs (sqlite)
-- prune runs: the notes of old ones, but for those that wait.
DELETE FROM schedule_run
WHERE (schedule_id, fire_time) IN (
    SELECT schedule_id, fire_time FROM schedule_run
    WHERE created_at < :before AND state <> 1
    ORDER BY created_at
    LIMIT :limit
)
RETURNING fire_time
