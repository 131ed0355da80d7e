-- why: what of a live task is needed to know the limits that it is under.
SELECT
    live.state, task.payload, task.options, lane.tenant, lane.queue, lane.name, lane.priority,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
FROM drumline.task_live AS live
INNER JOIN drumline.task ON live.id = task.id
INNER JOIN drumline.lane ON live.lane = lane.id
WHERE live.id = :id::uuid AND (:tenant::text IS NULL OR lane.tenant = :tenant)
