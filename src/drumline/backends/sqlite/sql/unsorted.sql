-- sort keys: the earliest tasks of a lane whose keys were not looked up yet.
SELECT live.id, task.payload, task.options
FROM task_live AS live
INNER JOIN task ON live.id = task.id
WHERE live.lane = :lane AND live.state = 1 AND live.due_at <= :until
ORDER BY live.due_at, live.id
LIMIT :most
