-- name: queue_deliveries
-- queue deliveries: keep what has to be delivered; what is there already, by event and target, is left out.
INSERT INTO drumline.delivery (
    id, subscription, created_at, next_at, channel, tenant, event_id, event_type, subject, address, event
)
SELECT
    g.id, g.subscription, clock.now, clock.now, g.channel, g.tenant, g.event_id, g.event_type, g.subject, g.address,
    g.event
FROM
    unnest(
        :ids::uuid [], :subscriptions::uuid [], :channels::int2 [], :tenants::text [], :event_ids::text [],
        :event_types::text [], :subjects::text [], :addresses::text [], :events::text []
    ) AS g (id, subscription, channel, tenant, event_id, event_type, subject, address, event),
    (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS clock
WHERE true
ON CONFLICT DO NOTHING

-- name: claim_webhooks (postgres)
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

-- name: claim_webhooks (sqlite)
-- claim webhooks: take what is due, longest waiting first, of each target a few.
--   fence  :holder, until :lease_ms from :now
UPDATE delivery SET holder = :holder, attempts = attempts + 1, next_at = :now + :lease_ms
WHERE id IN (
    SELECT waiting.id
    FROM (
        SELECT d.id, d.next_at, row_number() OVER (PARTITION BY d.address, d.tenant ORDER BY d.next_at) AS place
        FROM delivery AS d INDEXED BY delivery_waiting
        WHERE
            d.state = 0 AND d.channel = 0 AND d.next_at <= :now
            AND d.address NOT IN (SELECT value FROM json_each(:busy))
    ) AS waiting
    WHERE waiting.place <= :each
    ORDER BY waiting.next_at
    LIMIT :limit
)
RETURNING
    id, tenant, event_id, event_type, channel, address, event, attempts, :now, subscription,
    CASE
        WHEN subscription IS NULL
            THEN (SELECT own.secrets FROM signing_secret AS own WHERE own.tenant = delivery.tenant)
        ELSE (SELECT s.secrets FROM subscription AS s WHERE s.id = delivery.subscription)
    END

-- name: due_mailboxes (postgres)
-- claim mail: for whom mail is due, those waiting longest first.
WITH RECURSIVE clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

boxes AS (
    (
        SELECT d.address, d.tenant FROM drumline.delivery AS d
        WHERE d.state = 0 AND d.channel = 1
        ORDER BY d.channel, d.address, d.tenant
        LIMIT 1
    )
    UNION ALL
    SELECT n.address, n.tenant
    FROM boxes AS b
    CROSS JOIN LATERAL (
        SELECT d.address, d.tenant FROM drumline.delivery AS d
        WHERE d.state = 0 AND d.channel = 1 AND (d.address, d.tenant) > (b.address, b.tenant)
        ORDER BY d.channel, d.address, d.tenant
        LIMIT 1
    ) AS n
)

SELECT b.tenant, b.address, clock.now
FROM boxes AS b
CROSS JOIN clock
CROSS JOIN LATERAL (
    SELECT d.next_at FROM drumline.delivery AS d
    WHERE
        d.state = 0 AND d.channel = 1 AND d.address = b.address AND d.tenant = b.tenant AND d.next_at <= clock.now
    ORDER BY d.next_at
    LIMIT 1
) AS first
ORDER BY first.next_at
LIMIT :limit::int4

-- name: due_mailboxes (sqlite)
-- claim mail: for whom mail is due, those waiting longest first.
SELECT d.tenant, d.address, :now
FROM delivery AS d INDEXED BY delivery_waiting
WHERE d.state = 0 AND d.channel = 1 AND d.next_at <= :now
GROUP BY d.address, d.tenant
ORDER BY min(d.next_at)
LIMIT :limit

-- name: record_deliveries (postgres)
-- record: write what became of tries.
--   transition  pending -> pending (due again), delivered, failed
--   fence       :holder still has it
--   :ids …      arrays of equal length, sorted by id, each once
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

-- By id, and only then by state: else those who wait, who may be many, would look like a short way.
locked AS MATERIALIZED (
    SELECT l.id, l.state, l.holder FROM drumline.delivery AS l WHERE l.id = any(:ids::uuid []) FOR UPDATE
)

UPDATE drumline.delivery AS d
SET
    state = (:states::int2 [])[width_bucket(d.id, :ids)],
    holder = 0,
    next_at = CASE
        WHEN (:states)[width_bucket(d.id, :ids)] = 0
            THEN clock.now + (:delays::int8 [])[width_bucket(d.id, :ids)]
    END,
    finished_at = CASE WHEN (:states)[width_bucket(d.id, :ids)] <> 0 THEN clock.now END,
    status = (:statuses::int2 [])[width_bucket(d.id, :ids)],
    response = (:responses::text [])[width_bucket(d.id, :ids)],
    error = (:errors::text [])[width_bucket(d.id, :ids)],
    latency_ms = (:latencies::int4 [])[width_bucket(d.id, :ids)]
FROM clock
WHERE
    d.id = any(ARRAY(SELECT locked.id FROM locked WHERE locked.state = 0 AND locked.holder = :holder::int8))
RETURNING d.id, d.subscription

-- name: record_deliveries (sqlite)
-- record: write what became of tries; transition and fence as above.
UPDATE delivery AS d
SET
    state = g.state,
    holder = 0,
    next_at = CASE WHEN g.state = 0 THEN :now + g.delay END,
    finished_at = CASE WHEN g.state <> 0 THEN :now END,
    status = g.status,
    response = g.response,
    error = g.error,
    latency_ms = g.latency
FROM
    unnest(
        :ids::uuid [], :states::int2 [], :delays::int8 [], :statuses::int2 [], :responses::text [], :errors::text [],
        :latencies::int4 []
    ) AS g (id, state, delay, status, response, error, latency)
WHERE d.id = g.id AND d.state = 0 AND d.holder = :holder
RETURNING d.id, d.subscription

-- name: disable_subscriptions
-- record: end subscriptions whose receivers said so.
UPDATE drumline.subscription AS s
SET is_enabled = false, disabled_reason = :reason::text
WHERE s.id = any(:ids::uuid []) AND s.is_enabled

-- name: prune_deliveries
-- prune: delete deliveries that ended before a time, the oldest ones first. Ids rise with time, so those made later need
-- not be looked at.
DELETE FROM drumline.delivery
WHERE delivery.id IN (
    SELECT d.id FROM drumline.delivery AS d
    WHERE d.id < :below::uuid AND d.finished_at < :before::int8
    ORDER BY d.id
    LIMIT :limit::int4
)
RETURNING delivery.id

-- name: deliveries
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

-- name: resend
-- resend: let a delivery be tried again, now. A try that is under way loses it.
--   transition  any -> pending
UPDATE drumline.delivery AS d
SET
    state = 0, holder = 0, attempts = 0, finished_at = NULL,
    next_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
WHERE d.id = :id::uuid AND (:tenant::text IS NULL OR d.tenant = :tenant)
RETURNING d.id

-- name: pace_mailbox
-- claim mail: note a mail to somebody whose mailbox this transaction has locked.
UPDATE drumline.mailbox AS m SET paced_to = :paced_to::int8
WHERE m.tenant = :tenant::text AND m.address = :address::text

-- name: put_off_mail
-- claim mail: let what is due for somebody wait for its turn.
UPDATE drumline.delivery AS d
SET next_at = :until::int8
WHERE
    d.state = 0 AND d.channel = 1 AND d.address = :address::text AND d.tenant = :tenant::text
    AND d.next_at <= :now::int8

-- name: lock_mailbox (postgres)
-- claim mail: lock somebody's mailbox, made if there is none; no row if another notifier has it.
WITH made AS (
    INSERT INTO drumline.mailbox (tenant, address, paced_to)
    VALUES (:tenant::text, :address::text, 0)
    ON CONFLICT DO NOTHING
    RETURNING mailbox.paced_to
),

found AS (
    SELECT m.paced_to FROM drumline.mailbox AS m
    WHERE m.tenant = :tenant AND m.address = :address
    FOR UPDATE SKIP LOCKED
)

SELECT made.paced_to FROM made
UNION ALL
SELECT found.paced_to FROM found

-- name: lock_mailbox (sqlite)
-- claim mail: how far ahead somebody's mails are; the mailbox is made if there is none.
INSERT INTO mailbox (tenant, address, paced_to) VALUES (:tenant, :address, 0)
ON CONFLICT (tenant, address) DO UPDATE SET paced_to = mailbox.paced_to
RETURNING paced_to

-- name: claim_mail
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

-- name: is_delivery_due
-- claim webhooks, claim mail: whether there is anything to take.
SELECT 1
FROM drumline.delivery AS d
WHERE
    d.state = 0 AND d.channel = :channel::int2
    AND d.next_at <= coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
LIMIT 1
