-- name: insert_expiries
-- submit: note when tasks expire, in the transaction that stores them.
INSERT INTO drumline.task_expiry (task_id, expires_at)
SELECT g.id, g.expires_at
FROM unnest(:ids::uuid [], :expires_at::int8 []) AS g (id, expires_at)
WHERE true
ON CONFLICT DO NOTHING

-- name: expired
-- expire: which of these tasks expired before they started. An attempt that began later does not count: it was claimed
-- too late, and its process died before the task was cancelled.
SELECT e.task_id, e.expires_at
FROM drumline.task_expiry AS e
WHERE
    e.task_id = any(:ids::uuid [])
    AND e.expires_at <= coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
    AND NOT EXISTS (
        SELECT 1 FROM drumline.attempt AS a
        WHERE a.task_id = e.task_id AND a.started_at <= e.expires_at
    )

-- name: due_expiries
-- expire: the tasks whose time has come, earliest first, with their state; and whether each has started in time, or was
-- claimed too late a minute ago, by a version that does not know of this, and runs.
SELECT
    e.task_id,
    e.expires_at,
    live.state,
    coalesce(live.state = 2 AND (live.started_at <= e.expires_at OR live.started_at <= clock.now - 60000), false)
    OR EXISTS (
        SELECT 1 FROM drumline.attempt AS a
        WHERE a.task_id = e.task_id AND a.started_at <= e.expires_at
    )
FROM drumline.task_expiry AS e
CROSS JOIN (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS clock
LEFT JOIN drumline.task_live AS live ON e.task_id = live.id
WHERE e.expires_at <= clock.now
ORDER BY e.expires_at, e.task_id
LIMIT :limit

-- name: delete_expiries
-- expire: forget tasks that have started in time, or ended.
DELETE FROM drumline.task_expiry WHERE task_id = any(:ids::uuid [])
