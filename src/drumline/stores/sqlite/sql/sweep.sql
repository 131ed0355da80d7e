-- name: upcoming_in_lane
-- upcoming: the earliest queued tasks of a lane that are due from :due_after on and before :due_before.
SELECT id, due_at FROM task_live
WHERE lane = :lane AND state = 1 AND due_at >= :due_after AND due_at < :due_before
ORDER BY due_at, id
LIMIT :limit

-- name: waiting_tasks
-- waiting: up to :limit queued tasks due before a time, and as many that are blocked.
-- GIVES id and state
SELECT * FROM (
    SELECT live.id, live.state
    FROM lane CROSS JOIN task_live AS live INDEXED BY task_live_ready
    WHERE live.lane = lane.id AND live.state = 1 AND live.due_at < :due_before
    LIMIT :limit
)
UNION ALL
SELECT * FROM (
    SELECT live.id, live.state
    FROM lane CROSS JOIN task_live AS live INDEXED BY task_live_blocked
    WHERE live.lane = lane.id AND live.state = 0
    LIMIT :limit
)

-- name: paused_queues
-- sweep: what is paused, without counting what waits there.
SELECT tenant, queue FROM queue_pause ORDER BY tenant, queue
