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
