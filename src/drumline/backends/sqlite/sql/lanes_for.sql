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
