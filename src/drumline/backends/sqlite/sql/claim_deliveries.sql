-- claim webhooks, claim mail: take what is due for one target.
--   fence  :holder, until :lease_ms from :now
UPDATE delivery SET holder = :holder, attempts = attempts + 1, next_at = :now + :lease_ms
WHERE id IN (
    SELECT due.id FROM delivery AS due INDEXED BY delivery_waiting
    WHERE
        due.state = 0 AND due.channel = :channel AND due.address = :address AND due.tenant = :tenant
        AND due.next_at <= :now
    ORDER BY due.next_at
    LIMIT :each
)
RETURNING
    id, tenant, event_id, event_type, channel, address, event, attempts, :now, subscription,
    CASE
        WHEN subscription IS NULL
            THEN (SELECT own.secrets FROM signing_secret AS own WHERE own.tenant = delivery.tenant)
        ELSE (SELECT s.secrets FROM subscription AS s WHERE s.id = delivery.subscription)
    END
