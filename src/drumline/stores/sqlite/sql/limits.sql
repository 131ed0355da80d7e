-- name: set_limit
-- set a limit: keep it, in place of one of the same name.
INSERT INTO flow_limit (tenant, name, queue, task, keyed_by, max_concurrent, rate, period_ms, created_at)
VALUES (:tenant, :name, :queue, :task, :keyed_by, :max_concurrent, :rate, :period_ms, :now)
ON CONFLICT (tenant, name) DO UPDATE SET
queue = excluded.queue,
task = excluded.task,
keyed_by = excluded.keyed_by,
max_concurrent = excluded.max_concurrent,
rate = excluded.rate,
period_ms = excluded.period_ms

-- name: delete_slots
-- delete a limit, or set it anew: forget all that was started under it.
DELETE FROM slot WHERE limit_id = :id

-- name: delete_limit
-- delete a limit.
DELETE FROM flow_limit WHERE id = :id

-- name: limits
-- limits: those of a tenant, or all.
SELECT id, tenant, name, queue, task, keyed_by, max_concurrent, rate, period_ms, created_at
FROM flow_limit
WHERE :tenant IS NULL OR tenant = :tenant
ORDER BY tenant, name

-- name: running_under
-- limits: how many tasks run under each.
--   :limits  JSON list of numbers
SELECT slot.limit_id, count(*)
FROM slot
INNER JOIN task_live AS live ON slot.task_id = live.id AND slot.epoch = live.epoch AND live.state = 2
WHERE slot.limit_id IN (SELECT value FROM json_each(:limits))
GROUP BY slot.limit_id

-- name: under_limits
-- why: what of a live task is needed to know the limits that it is under.
SELECT live.state, task.payload, task.options, lane.tenant, lane.queue, lane.name, lane.priority
FROM task_live AS live
INNER JOIN task ON live.id = task.id
INNER JOIN lane ON live.lane = lane.id
WHERE live.id = :id AND (:tenant IS NULL OR lane.tenant = :tenant)

-- name: drop_dead_slots
-- sort keys: forget slots that nothing counts any more, under whatever key.
--   :limits  JSON list of [limit, since]
DELETE FROM slot
WHERE
    (limit_id, limit_key, task_id, epoch) IN (
        SELECT dead.limit_id, dead.limit_key, dead.task_id, dead.epoch
        FROM json_each(:limits) AS asked
        INNER JOIN slot AS dead
            ON dead.limit_id = json_extract(asked.value, '$[0]')
        LEFT JOIN task_live AS live ON dead.task_id = live.id AND dead.epoch = live.epoch AND live.state = 2
        WHERE live.id IS NULL AND dead.started_at <= json_extract(asked.value, '$[1]')
    )

-- name: lanes_with_twins
-- sort keys, set a limit: every lane, and whether it is a twin.
SELECT id, is_keyed, tenant, queue, name, priority FROM lane

-- name: unsort_keys
-- sort keys: put tasks back from the twin of a lane whose limit with keys has gone.
UPDATE task_live
SET lane = :lane, limit_key = 0
WHERE
    id IN (
        SELECT id FROM task_live
        WHERE lane = :twin AND state = 1
        ORDER BY due_at
        LIMIT :most
    )
RETURNING id, due_at

-- name: running_in_lanes
-- set a limit: what runs in lanes now.
SELECT live.id, live.epoch, live.started_at, live.lane, task.payload, task.options
FROM task_live AS live
INNER JOIN task ON live.id = task.id
WHERE live.state = 2 AND live.lane IN (SELECT value FROM json_each(:lanes))

-- name: due_by_key
-- claim: the oldest due tasks of each key of a lane, of some keys after :after.
--   :most, :each  how many keys, and how many tasks of each
-- GIVES one JSON list of [key, [[due_at, id], …]]
WITH RECURSIVE known (key) AS (
    SELECT min(limit_key) FROM task_live WHERE lane = :lane AND state = 1 AND limit_key <> 0 AND limit_key > :after
    UNION ALL
    SELECT (
        SELECT min(next.limit_key) FROM task_live AS next
        WHERE next.lane = :lane AND next.state = 1 AND next.limit_key <> 0 AND next.limit_key > known.key
    )
    FROM known
    WHERE known.key IS NOT NULL
    LIMIT :most
)

SELECT json_group_array(json_array(known.key, json((
    SELECT json_group_array(json_array(head.due_at, head.id))
    FROM (
        SELECT live.due_at, live.id FROM task_live AS live INDEXED BY task_live_keyed
        WHERE
            live.lane = :lane AND live.state = 1 AND live.limit_key <> 0 AND live.limit_key = known.key
            AND live.due_at <= :now
        ORDER BY live.due_at, live.id
        LIMIT :each
    ) AS head
))))
FROM known
WHERE known.key IS NOT NULL

-- name: unsorted
-- sort keys: the earliest tasks of a lane whose keys were not looked up yet.
SELECT live.id, task.payload, task.options
FROM task_live AS live
INNER JOIN task ON live.id = task.id
WHERE live.lane = :lane AND live.state = 1 AND live.due_at <= :until
ORDER BY live.due_at, live.id
LIMIT :most

-- name: insert_twin
-- sort keys: give the twin of a lane a number.
INSERT INTO lane (tenant, queue, name, priority, is_keyed) VALUES (?, ?, ?, ?, 1)
ON CONFLICT DO NOTHING

-- name: twin_number
-- sort keys: the number of the twin of a lane.
SELECT id FROM lane WHERE tenant = ? AND queue = ? AND name = ? AND priority = ? AND is_keyed = 1

-- name: sort_keys
-- sort keys: put tasks into the twin of their lane, under their keys.
--   :tasks  JSON list of [task, key]
UPDATE task_live
SET lane = :twin, limit_key = json_extract(asked.value, '$[1]')
FROM json_each(:tasks) AS asked
WHERE task_live.id = json_extract(asked.value, '$[0]')

-- name: insert_keys
-- sort keys: give keys a number.
INSERT INTO limit_key (tenant, key)
SELECT :tenant, value FROM json_each(:keys)
WHERE true
ON CONFLICT DO NOTHING

-- name: key_numbers
-- sort keys: the numbers of keys.
SELECT key, id FROM limit_key
WHERE tenant = :tenant AND key IN (SELECT value FROM json_each(:keys))

-- name: drop_slots
-- claim: forget slots that nothing counts any more.
--   :slots  JSON list of [limit, key, since]
DELETE FROM slot
WHERE
    (limit_id, limit_key, task_id, epoch) IN (
        SELECT dead.limit_id, dead.limit_key, dead.task_id, dead.epoch
        FROM json_each(:slots) AS asked
        INNER JOIN slot AS dead
            ON
                dead.limit_id = json_extract(asked.value, '$[0]')
                AND dead.limit_key = json_extract(asked.value, '$[1]')
        LEFT JOIN task_live AS live ON dead.task_id = live.id AND dead.epoch = live.epoch AND live.state = 2
        WHERE live.id IS NULL AND dead.started_at <= json_extract(asked.value, '$[2]')
    )

-- name: slot_uses
-- claim: how much of limits is used.
--   :slots  JSON list of [limit, key, since]: starts count after that time
-- GIVES one JSON list of [limit, key, running, started, the oldest of those]
SELECT json_group_array(json_array(limit_id, limit_key, running, started, oldest))
FROM (
    SELECT
        slot.limit_id, slot.limit_key,
        count(live.id) AS running,
        count(CASE WHEN slot.started_at > json_extract(asked.value, '$[2]') THEN 1 END) AS started,
        min(CASE WHEN slot.started_at > json_extract(asked.value, '$[2]') THEN slot.started_at END) AS oldest
    FROM json_each(:slots) AS asked
    INNER JOIN slot ON slot.limit_id = json_extract(asked.value, '$[0]') AND slot.limit_key = json_extract(asked.value, '$[1]')
    LEFT JOIN task_live AS live ON slot.task_id = live.id AND slot.epoch = live.epoch AND live.state = 2
    GROUP BY slot.limit_id, slot.limit_key
)

-- name: insert_slots
-- claim, set a limit: note what was started under limits.
--   :slots  JSON list of [limit, key, task, epoch, started_at]
INSERT INTO slot (limit_id, limit_key, task_id, epoch, started_at)
SELECT
    json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'), json_extract(value, '$[3]'), json_extract(value, '$[4]')
FROM json_each(:slots)
WHERE true
ON CONFLICT DO NOTHING

-- name: limited_lanes
-- claim: the lanes under limits whose tasks a session may be given now.
--   :names, :queues  JSON lists; no queues means every queue
--   :tenant          NULL means every tenant
SELECT lane.id, lane.is_keyed, lane.tenant, lane.queue, lane.name, lane.priority
FROM lane
WHERE
    lane.name IN (SELECT value FROM json_each(:names))
    AND (:queues = '[]' OR lane.queue IN (SELECT value FROM json_each(:queues)))
    AND (:tenant IS NULL OR lane.tenant = :tenant)
    AND NOT EXISTS (
        SELECT 1 FROM queue_pause
        WHERE queue_pause.tenant = lane.tenant AND queue_pause.queue = lane.queue
    )
    AND EXISTS (
        SELECT 1 FROM flow_limit AS f
        WHERE
            f.tenant = lane.tenant
            AND coalesce(f.queue, lane.queue) = lane.queue
            AND coalesce(f.task, lane.name) = lane.name
    )

-- name: next_due_after
-- claim: when a lane's next task will be due that is not due yet; no row when it has none.
SELECT due_at FROM task_live
WHERE lane = :lane AND state = 1 AND due_at > :now
ORDER BY due_at
LIMIT 1
