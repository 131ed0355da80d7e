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
