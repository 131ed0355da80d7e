-- name: limits
-- limits: those of a tenant, or all.
SELECT f.id, f.tenant, f.name, f.queue, f.task, f.keyed_by, f.max_concurrent, f.rate, f.period_ms, f.created_at,
    f.split
FROM drumline.flow_limit AS f
WHERE :tenant::text IS NULL OR f.tenant = :tenant
ORDER BY f.tenant, f.name

-- name: set_limit
-- set a limit: keep it, in place of one of the same name.
INSERT INTO drumline.flow_limit (
    tenant, name, queue, task, keyed_by, max_concurrent, rate, period_ms, created_at
)
VALUES (
    :tenant::text, :name::text, :queue::text, :task::text, :keyed_by::text, :max_concurrent::int4, :rate::int4,
    :period_ms::int8, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
)
ON CONFLICT (tenant, name) DO UPDATE SET
queue = excluded.queue,
task = excluded.task,
keyed_by = excluded.keyed_by,
max_concurrent = excluded.max_concurrent,
rate = excluded.rate,
period_ms = excluded.period_ms

-- name: delete_slots
-- delete a limit, or set it anew: forget all that was started under it.
DELETE FROM drumline.slot WHERE slot.limit_id = :id::int4

-- name: delete_limit
-- delete a limit whose slots are forgotten.
DELETE FROM drumline.flow_limit WHERE flow_limit.id = :id::int4

-- name: hold_limits (postgres)
-- set, delete a limit: let nobody claim under limits, and nobody else change them, until this is committed.
LOCK TABLE drumline.flow_limit IN EXCLUSIVE MODE

-- name: hold_limits (sqlite)
-- Whoever writes is alone.
SELECT 1

-- name: hold_claims (postgres)
-- set a limit: wait for the claims under way, which do not know of it; those that come wait, and will know.
LOCK TABLE drumline.claim IN SHARE MODE

-- name: hold_claims (sqlite)
-- Whoever writes is alone.
SELECT 1

-- name: running_under
-- limits: how many tasks run under each.
SELECT slot.limit_id, count(*) AS running
FROM drumline.slot
WHERE
    slot.limit_id = any(:limits::int4 [])
    AND EXISTS (
        SELECT 1 FROM drumline.task_live AS live
        WHERE live.id = slot.task_id AND live.state = 2 AND live.epoch = slot.epoch
    )
GROUP BY slot.limit_id

-- name: under_limits (postgres)
-- why: what of a live task is needed to know the limits that it is under.
SELECT
    live.state, task.payload, task.options, lane.tenant, lane.queue, lane.name, lane.priority,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
FROM drumline.task_live AS live
INNER JOIN drumline.task ON live.id = task.id
INNER JOIN drumline.lane ON live.lane = lane.id
WHERE live.id = :id::uuid AND (:tenant::text IS NULL OR lane.tenant = :tenant)

-- name: under_limits (sqlite)
SELECT
    live.state, CAST(task.payload AS BLOB), task.options, lane.tenant, lane.queue, lane.name, lane.priority, :now
FROM task_live AS live
INNER JOIN task ON live.id = task.id
INNER JOIN lane ON live.lane = lane.id
WHERE live.id = :id AND (:tenant IS NULL OR lane.tenant = :tenant)

-- name: running_in_lanes (postgres)
-- set a limit: what runs in lanes now.
SELECT live.id, live.epoch, live.started_at, wide.payload, wide.options
FROM drumline.claim
CROSS JOIN LATERAL unnest(claim.tasks) AS given (id)
CROSS JOIN LATERAL (
    SELECT l.id, l.epoch, l.started_at
    FROM drumline.task_live AS l
    WHERE
        l.id = given.id AND l.state = 2 AND l.session = claim.session AND l.nonce = claim.nonce
        AND l.lane = any(:lanes::int4 [])
    OFFSET 0
) AS live
CROSS JOIN LATERAL (
    SELECT task.payload, task.options FROM drumline.task WHERE task.id = given.id OFFSET 0
) AS wide

-- name: running_in_lanes (sqlite)
SELECT live.id, live.epoch, live.started_at, CAST(task.payload AS BLOB), task.options
FROM task_live AS live
INNER JOIN task ON live.id = task.id
WHERE live.state = 2 AND live.lane = any(:lanes)

-- name: lanes_with_twins
-- sort keys, set a limit: every lane, and whether it is a twin.
SELECT lane.id, lane.is_keyed, lane.tenant, lane.queue, lane.name, lane.priority FROM drumline.lane

-- name: unsorted (postgres)
-- sort keys: the earliest tasks of a lane whose keys were not looked up yet.
SELECT due.id, wide.payload, wide.options
FROM (
    SELECT live.id
    FROM drumline.task_live AS live
    WHERE live.lane = :lane::int4 AND live.due_at <= :until::int8 AND live.state = 1
    ORDER BY live.due_at, live.id
    LIMIT :most::int4
    FOR UPDATE SKIP LOCKED
) AS due
CROSS JOIN LATERAL (
    SELECT task.payload, task.options FROM drumline.task WHERE task.id = due.id OFFSET 0
) AS wide

-- name: unsorted (sqlite)
SELECT live.id, CAST(task.payload AS BLOB), task.options
FROM task_live AS live
INNER JOIN task ON live.id = task.id
WHERE live.lane = :lane AND live.state = 1 AND live.due_at <= :until
ORDER BY live.due_at, live.id
LIMIT :most

-- name: twin_number
-- sort keys: the number of the twin of a lane.
SELECT twin.id
FROM drumline.lane AS l
INNER JOIN drumline.lane AS twin
    ON
        l.name = twin.name AND l.queue = twin.queue AND l.tenant = twin.tenant AND l.priority = twin.priority
        AND l.is_keyed <> twin.is_keyed
WHERE l.id = :lane::int4

-- name: insert_twin
-- sort keys: give the twin of a lane a number.
INSERT INTO drumline.lane (tenant, queue, name, priority, is_keyed)
SELECT l.tenant, l.queue, l.name, l.priority, true FROM drumline.lane AS l WHERE l.id = :lane::int4
ON CONFLICT DO NOTHING

-- name: sort_keys
-- sort keys: put tasks into the twin of their lane, under their keys.
UPDATE drumline.task_live AS live
SET lane = :twin::int4, limit_key = g.key
FROM unnest(:tasks::uuid [], :keys::int4 []) AS g (id, key)
WHERE live.id = g.id

-- name: unsort_keys
-- sort keys: put tasks back from the twin of a lane whose limit with keys has gone.
UPDATE drumline.task_live AS live
SET lane = :lane::int4, limit_key = 0
WHERE
    live.id = any(
        ARRAY(
            SELECT waiting.id FROM drumline.task_live AS waiting
            WHERE waiting.lane = :twin::int4 AND waiting.due_at IS NOT NULL AND waiting.state = 1
            ORDER BY waiting.due_at, waiting.id
            LIMIT :most::int4
            FOR UPDATE SKIP LOCKED
        )
    )
RETURNING live.id, live.due_at

-- name: limit_key_numbers
-- sort keys: the numbers of keys.
SELECT k.key, k.id FROM drumline.limit_key AS k
WHERE k.tenant = :tenant::text AND k.key = any(:keys::text [])

-- name: insert_limit_keys
-- sort keys: give keys a number. Sorted, so that no two callers wait for each other.
INSERT INTO drumline.limit_key (tenant, key)
SELECT :tenant::text, g.key FROM unnest(:keys::text []) AS g (key)
WHERE true
ON CONFLICT DO NOTHING

-- name: drop_dead_slots (postgres)
-- sort keys: forget slots that nothing counts any more, under whatever key.
--   :limits, :since  which limits, and the time after which starts count; at most :most of each
DELETE FROM drumline.slot
WHERE
    slot.ctid = any(
        ARRAY(
            SELECT dead.place
            FROM unnest(:limits::int4 [], :since::int8 []) AS asked (limit_id, since)
            CROSS JOIN LATERAL (
                SELECT s.ctid AS place
                FROM drumline.slot AS s
                WHERE
                    s.limit_id = asked.limit_id AND s.started_at <= asked.since
                    AND NOT EXISTS (
                        SELECT FROM drumline.task_live AS live
                        WHERE live.id = s.task_id AND live.state = 2 AND live.epoch = s.epoch
                    )
                LIMIT :most::int4
            ) AS dead
        )
    )

-- name: drop_dead_slots (sqlite)
DELETE FROM slot
WHERE
    (limit_id, limit_key, task_id, epoch) IN (
        SELECT dead.limit_id, dead.limit_key, dead.task_id, dead.epoch
        FROM unnest(:limits::int4 [], :since::int8 []) AS asked (limit_id, since)
        INNER JOIN slot AS dead ON asked.limit_id = dead.limit_id
        LEFT JOIN task_live AS live ON dead.task_id = live.id AND dead.epoch = live.epoch AND live.state = 2
        WHERE live.id IS NULL AND dead.started_at <= asked.since
        LIMIT :most
    )

-- name: drop_slots (postgres)
-- claim: forget slots that nothing counts any more.
--   :limits, :keys, :since  which, and the time after which starts count
DELETE FROM drumline.slot
WHERE
    slot.ctid = any(
        ARRAY(
            SELECT dead.place
            FROM unnest(:limits::int4 [], :keys::int4 [], :since::int8 []) AS asked (limit_id, limit_key, since)
            CROSS JOIN LATERAL (
                SELECT s.ctid AS place
                FROM drumline.slot AS s
                WHERE
                    s.limit_id = asked.limit_id AND s.limit_key = asked.limit_key AND s.started_at <= asked.since
                    AND NOT EXISTS (
                        SELECT FROM drumline.task_live AS live
                        WHERE live.id = s.task_id AND live.state = 2 AND live.epoch = s.epoch
                    )
                OFFSET 0
            ) AS dead
        )
    )

-- name: drop_slots (sqlite)
DELETE FROM slot
WHERE
    (limit_id, limit_key, task_id, epoch) IN (
        SELECT dead.limit_id, dead.limit_key, dead.task_id, dead.epoch
        FROM unnest(:limits::int4 [], :keys::int4 [], :since::int8 []) AS asked (limit_id, limit_key, since)
        INNER JOIN slot AS dead ON asked.limit_id = dead.limit_id AND asked.limit_key = dead.limit_key
        LEFT JOIN task_live AS live ON dead.task_id = live.id AND dead.epoch = live.epoch AND live.state = 2
        WHERE live.id IS NULL AND dead.started_at <= asked.since
    )

-- name: slot_uses (postgres)
-- claim: how much of limits is used.
--   :limits, :keys, :since  what is asked for: starts count after that time
SELECT
    asked.limit_id, asked.limit_key,
    count(*) FILTER (WHERE s.is_running) AS running,
    count(*) FILTER (WHERE s.started_at > asked.since) AS started,
    min(s.started_at) FILTER (WHERE s.started_at > asked.since) AS oldest
FROM unnest(:limits::int4 [], :keys::int4 [], :since::int8 []) AS asked (limit_id, limit_key, since)
CROSS JOIN LATERAL (
    SELECT
        slot.started_at,
        EXISTS (
            SELECT FROM drumline.task_live AS live
            WHERE live.id = slot.task_id AND live.state = 2 AND live.epoch = slot.epoch
        ) AS is_running
    FROM drumline.slot
    WHERE slot.limit_id = asked.limit_id AND slot.limit_key = asked.limit_key
    OFFSET 0
) AS s
GROUP BY asked.limit_id, asked.limit_key

-- name: slot_uses (sqlite)
-- GIVES one JSON list
SELECT json_group_array(json_array(limit_id, limit_key, running, started, oldest))
FROM (
    SELECT
        slot.limit_id, slot.limit_key,
        count(live.id) AS running,
        count(CASE WHEN slot.started_at > asked.since THEN 1 END) AS started,
        min(CASE WHEN slot.started_at > asked.since THEN slot.started_at END) AS oldest
    FROM unnest(:limits::int4 [], :keys::int4 [], :since::int8 []) AS asked (limit_id, limit_key, since)
    INNER JOIN slot ON asked.limit_id = slot.limit_id AND asked.limit_key = slot.limit_key
    LEFT JOIN task_live AS live ON slot.task_id = live.id AND slot.epoch = live.epoch AND live.state = 2
    GROUP BY slot.limit_id, slot.limit_key
)

-- name: insert_slots
-- claim, set a limit: note what was started under limits; what has no time was started now.
INSERT INTO drumline.slot (limit_id, limit_key, task_id, epoch, started_at)
SELECT
    g.limit_id, g.limit_key, g.task_id, g.epoch,
    coalesce(g.started_at, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8))
FROM unnest(:limits::int4 [], :keys::int4 [], :tasks::uuid [], :epochs::int4 [], :started_at::int8 [])
    AS g (limit_id, limit_key, task_id, epoch, started_at)
WHERE true
ON CONFLICT DO NOTHING
