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
