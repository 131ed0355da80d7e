-- claim mail: take what is due for somebody whose mailbox this transaction has locked.
--   fence  :holder, until :lease_ms from :now
UPDATE drumline.delivery AS d
SET holder = :holder::int8, attempts = d.attempts + 1, next_at = :now::int8 + :lease_ms::int8
WHERE
    d.id = any(
        ARRAY(
            SELECT due.id FROM drumline.delivery AS due
            WHERE
                due.state = 0 AND due.channel = 1 AND due.address = :address::text AND due.tenant = :tenant::text
                AND due.next_at <= :now
            ORDER BY due.next_at
            LIMIT :each::int4
            FOR UPDATE SKIP LOCKED
        )
    )
RETURNING
    d.id, d.tenant, d.event_id, d.event_type, d.channel, d.address, d.event, d.attempts, :now AS now, d.subscription,
    NULL AS secrets
