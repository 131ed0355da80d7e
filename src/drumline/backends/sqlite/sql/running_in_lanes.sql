-- set a limit: what runs in lanes now.
SELECT live.id, live.epoch, live.started_at, live.lane, task.payload, task.options
FROM task_live AS live
INNER JOIN task ON live.id = task.id
WHERE live.state = 2 AND live.lane IN (SELECT value FROM json_each(:lanes))
