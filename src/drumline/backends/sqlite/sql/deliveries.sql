-- deliveries: newest first. What is NULL does not narrow.
SELECT
    id, tenant, subscription, event_id, event_type, subject, channel, address, state, attempts, next_at, status,
    response, error, latency_ms, created_at, finished_at, CASE WHEN :with_event THEN event END AS event
FROM delivery
WHERE
    (:id IS NULL OR id = :id)
    AND (:before IS NULL OR id < :before)
    AND (:tenant IS NULL OR tenant = :tenant)
    AND (:subscription IS NULL OR subscription = :subscription)
    AND (:state IS NULL OR state = :state)
    AND (:subject IS NULL OR subject = :subject)
    AND (:event_type IS NULL OR event_type = :event_type)
ORDER BY id DESC
LIMIT :limit
