-- name: create_subscription
-- subscribe: keep a subscription, unless its tenant has another one of that name.
INSERT INTO drumline.subscription (id, created_at, channel, tenant, name, filter, address, secrets)
VALUES (
    :id::uuid, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8), :channel::int2, :tenant::text,
    :name::text, :filter::text, :address::text, :secrets::text
)
ON CONFLICT DO NOTHING

-- name: subscriptions
-- subscriptions: oldest first. What is NULL does not narrow.
SELECT s.id, s.tenant, s.name, s.filter, s.channel, s.address, s.created_at, s.is_enabled, s.disabled_reason
FROM drumline.subscription AS s
WHERE
    (:id::uuid IS NULL OR s.id = :id)
    AND (:tenant::text IS NULL OR s.tenant = :tenant)
    AND (s.is_enabled OR NOT :enabled::bool)
ORDER BY s.id

-- name: lock_subscription
-- change a subscription: lock it.
SELECT s.id FROM drumline.subscription AS s
WHERE s.id = :id::uuid AND (:tenant::text IS NULL OR s.tenant = :tenant)
FOR UPDATE

-- name: subscription_named
-- change a subscription: whether its tenant has another one of that name.
SELECT other.id
FROM drumline.subscription AS s, drumline.subscription AS other
WHERE s.id = :id::uuid AND other.tenant = s.tenant AND other.name = :name::text AND other.id <> s.id

-- name: change_subscription
-- change a subscription that this transaction has locked; what is NULL stays.
UPDATE drumline.subscription AS s
SET
    name = coalesce(:name::text, s.name),
    filter = coalesce(:filter::text, s.filter),
    address = coalesce(:address::text, s.address),
    is_enabled = coalesce(:is_enabled::bool, s.is_enabled),
    disabled_reason = CASE WHEN :is_enabled IS NULL THEN s.disabled_reason ELSE :reason::text END
WHERE s.id = :id::uuid

-- name: fail_deliveries
-- give up what waits to be delivered for subscriptions that are no more.
--   transition  pending -> failed
UPDATE drumline.delivery AS d
SET
    state = 2, next_at = NULL, holder = 0, error = :error::text,
    finished_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
WHERE d.subscription = any(:subscriptions::uuid []) AND d.state = 0

-- name: delete_subscription
-- unsubscribe: forget a subscription that this transaction has locked.
DELETE FROM drumline.subscription WHERE subscription.id = :id::uuid

-- name: signing_secrets
-- secrets: what signs the webhooks that a tenant's tasks and jobs name themselves.
SELECT s.secrets FROM drumline.signing_secret AS s WHERE s.tenant = :tenant::text

-- name: secrets
-- secrets: what signs the webhooks of a subscription.
SELECT s.secrets FROM drumline.subscription AS s
WHERE s.id = :id::uuid AND (:tenant::text IS NULL OR s.tenant = :tenant)

-- name: put_signing_secrets
-- secrets: replace those of a tenant, if they are still the old ones; NULL means that there were none.
INSERT INTO drumline.signing_secret AS s (tenant, secrets)
VALUES (:tenant::text, :secrets::text)
ON CONFLICT (tenant) DO UPDATE SET secrets = excluded.secrets
WHERE s.secrets = :old::text
RETURNING s.tenant

-- name: put_secrets
-- secrets: replace those of a subscription, if they are still the old ones.
UPDATE drumline.subscription AS s
SET secrets = :secrets::text
WHERE s.id = :id::uuid AND (:tenant::text IS NULL OR s.tenant = :tenant) AND s.secrets = coalesce(:old::text, '[]')
RETURNING s.id

-- name: has_targets (postgres)
-- listening: whether any task names targets itself. The index of those is asked, so it costs the same with any number of
-- tasks.
SELECT EXISTS (SELECT FROM drumline.task WHERE task.options LIKE '%"notify"%') AS has_targets

-- name: has_targets (sqlite)
-- listening: whether any task names targets itself. The index of those is asked, so it costs the same with any number of
-- tasks.
SELECT EXISTS (SELECT 1 FROM task INDEXED BY task_with_targets WHERE instr(options, '"notify"') > 0)
