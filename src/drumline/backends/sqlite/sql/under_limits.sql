-- why: what of a live task is needed to know the limits that it is under.
SELECT live.state, task.payload, task.options, lane.tenant, lane.queue, lane.name, lane.priority
FROM task_live AS live
INNER JOIN task ON live.id = task.id
INNER JOIN lane ON live.lane = lane.id
WHERE live.id = :id AND (:tenant IS NULL OR lane.tenant = :tenant)
