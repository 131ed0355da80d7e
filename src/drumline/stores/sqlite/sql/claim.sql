-- name: session_is_claiming
-- claim: one row if the session is open and takes tasks.
SELECT 1 FROM session WHERE id = :session AND closed_at IS NULL AND should_drain = 0

-- name: lanes_for
-- claim: the lanes whose tasks a session may be given now.
--   :names, :queues  JSON lists; no queues means every queue
--   :tenant          NULL means every tenant
-- GIVES one JSON list of [lane, priority, tenant]
SELECT json_group_array(json_array(lane.id, lane.priority, lane.tenant))
FROM lane
WHERE
    lane.name IN (SELECT value FROM json_each(:names))
    AND (:queues = '[]' OR lane.queue IN (SELECT value FROM json_each(:queues)))
    AND (:tenant IS NULL OR lane.tenant = :tenant)
    AND NOT EXISTS (
        SELECT 1 FROM queue_pause
        WHERE queue_pause.tenant = lane.tenant AND queue_pause.queue = lane.queue
    )
    AND NOT EXISTS (
        SELECT 1 FROM flow_limit AS f
        WHERE
            f.tenant = lane.tenant
            AND coalesce(f.queue, lane.queue) = lane.queue
            AND coalesce(f.task, lane.name) = lane.name
    )

-- name: claim
-- claim: lease tasks to a session.
--   transition  queued -> running
--   fence       epoch rises, nonce is new
--   :ids, :lanes  JSON lists; a task in another lane is not this session's to run
UPDATE task_live
SET
    state = 2,
    epoch = epoch + 1,
    attempt = attempt + 1,
    nonce = :nonce,
    session = :session,
    started_at = :now
WHERE
    id IN (SELECT value FROM json_each(:ids))
    AND lane IN (SELECT value FROM json_each(:lanes))
    AND state = 1
    AND due_at <= :now

-- name: lanes
-- upcoming: every lane that is under no limit.
SELECT lane.id, lane.tenant, lane.queue, lane.name, lane.priority FROM lane
WHERE
    lane.is_keyed = 0
    AND NOT EXISTS (
        SELECT 1 FROM flow_limit AS f
        WHERE
            f.tenant = lane.tenant
            AND coalesce(f.queue, lane.queue) = lane.queue
            AND coalesce(f.task, lane.name) = lane.name
    )

-- name: claimed_before
-- claim: what a session took with one claim, whose answer was lost.
-- GIVES one JSON list of [id, epoch, attempt, payload, options, tenant, queue, name, priority, records]
SELECT json_group_array(json_array(
    live.id, live.epoch, live.attempt, task.payload, task.options,
    lane.tenant, lane.queue, lane.name, lane.priority, live.records
))
FROM task_live AS live
INNER JOIN task ON live.id = task.id
INNER JOIN lane ON live.lane = lane.id
WHERE live.state = 2 AND live.session = :session AND live.nonce = :nonce

-- name: claimed
-- claim: those of some tasks that a session took with this claim. Found by their ids: the session may hold thousands.
--   :ids  JSON list
-- GIVES one JSON list, in the order of :ids, of
--   [id, epoch, attempt, payload, options, tenant, queue, name, priority, records]
SELECT json_group_array(json_array(
    live.id, live.epoch, live.attempt, task.payload, task.options,
    lane.tenant, lane.queue, lane.name, lane.priority, live.records
))
FROM json_each(:ids) AS given
CROSS JOIN task_live AS live ON given.value = live.id
CROSS JOIN task ON live.id = task.id
CROSS JOIN lane ON live.lane = lane.id
WHERE live.state = 2 AND live.session = :session AND live.nonce = :nonce

-- name: due_in_lane
-- claim: the oldest due tasks of a lane.
-- GIVES one JSON list of [due_at, id], oldest first
SELECT json_group_array(json_array(due_at, id))
FROM (
    SELECT due_at, id FROM task_live
    WHERE lane = :lane AND state = 1 AND due_at <= :now
    ORDER BY due_at, id
    LIMIT :limit
)

-- name: next_due_in_lane
-- claim: when a lane's next task will be due; no row when it has none.
SELECT due_at FROM task_live
WHERE lane = :lane AND state = 1
ORDER BY due_at
LIMIT 1

-- name: insert_lane
-- submit, reschedule: give a lane a number.
INSERT INTO lane (tenant, queue, name, priority) VALUES (?, ?, ?, ?)
ON CONFLICT DO NOTHING

-- name: lane_number
-- submit, reschedule: the number of a lane.
SELECT id FROM lane WHERE tenant = ? AND queue = ? AND name = ? AND priority = ? AND is_keyed = 0
