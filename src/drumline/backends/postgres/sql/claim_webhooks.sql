-- claim webhooks: take what is due, longest waiting first, of each target a few.
--   The targets are walked one by one through delivery_waiting, so that a million waiting for one of them is one step.
--   fence  :holder, until :lease_ms from now
WITH RECURSIVE clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

targets AS (
    (
        SELECT d.address, d.tenant FROM drumline.delivery AS d
        WHERE d.state = 0 AND d.channel = 0
        ORDER BY d.channel, d.address, d.tenant
        LIMIT 1
    )
    UNION ALL
    SELECT n.address, n.tenant
    FROM targets AS t
    CROSS JOIN LATERAL (
        SELECT d.address, d.tenant FROM drumline.delivery AS d
        WHERE d.state = 0 AND d.channel = 0 AND (d.address, d.tenant) > (t.address, t.tenant)
        ORDER BY d.channel, d.address, d.tenant
        LIMIT 1
    ) AS n
),

due AS MATERIALIZED (
    SELECT w.id
    FROM targets AS t
    CROSS JOIN LATERAL (
        SELECT d.id, d.next_at FROM drumline.delivery AS d
        WHERE
            d.state = 0 AND d.channel = 0 AND d.address = t.address AND d.tenant = t.tenant
            AND d.next_at <= (SELECT clock.now FROM clock)
        ORDER BY d.next_at
        LIMIT :each::int4
        FOR UPDATE SKIP LOCKED
    ) AS w
    WHERE t.address <> all(:busy::text [])
    ORDER BY w.next_at
    LIMIT :limit::int4
)

UPDATE drumline.delivery AS d
SET holder = :holder::int8, attempts = d.attempts + 1, next_at = clock.now + :lease_ms::int8
FROM clock
WHERE d.id = any(ARRAY(SELECT due.id FROM due))
RETURNING
    d.id, d.tenant, d.event_id, d.event_type, d.channel, d.address, d.event, d.attempts, clock.now, d.subscription,
    CASE
        WHEN d.subscription IS NULL
            THEN (SELECT own.secrets FROM drumline.signing_secret AS own WHERE own.tenant = d.tenant)
        ELSE (SELECT s.secrets FROM drumline.subscription AS s WHERE s.id = d.subscription)
    END AS secrets
