-- deliveries: newest first. What is NULL does not narrow.
SELECT
    d.id, d.tenant, d.subscription, d.event_id, d.event_type, d.subject, d.channel, d.address, d.state, d.attempts,
    d.next_at, d.status, d.response, d.error, d.latency_ms, d.created_at, d.finished_at,
    CASE WHEN :with_event::bool THEN d.event END AS event
FROM drumline.delivery AS d
WHERE
    (:id::uuid IS NULL OR d.id = :id)
    AND (:before::uuid IS NULL OR d.id < :before)
    AND (:tenant::text IS NULL OR d.tenant = :tenant)
    AND (:subscription::uuid IS NULL OR d.subscription = :subscription)
    AND (:state::int2 IS NULL OR d.state = :state)
    AND (:subject::text IS NULL OR d.subject = :subject)
    AND (:event_type::text IS NULL OR d.event_type = :event_type)
ORDER BY d.id DESC
LIMIT :limit::int4
