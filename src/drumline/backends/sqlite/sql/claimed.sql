-- claim: what a session took with one claim.
-- GIVES one JSON list of [id, epoch, attempt, payload, options, tenant, queue, name, priority]
SELECT json_group_array(json_array(
    live.id, live.epoch, live.attempt, task.payload, task.options,
    lane.tenant, lane.queue, lane.name, lane.priority
))
FROM task_live AS live
INNER JOIN task ON live.id = task.id
INNER JOIN lane ON live.lane = lane.id
WHERE
    live.state = 2
    AND live.session = :session
    AND live.nonce = :nonce
    AND (:ids IS NULL OR live.id IN (SELECT value FROM json_each(:ids)))
