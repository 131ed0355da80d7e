-- subscriptions: oldest first. What is NULL does not narrow.
SELECT id, tenant, name, filter, channel, address, created_at, is_enabled, disabled_reason
FROM subscription
WHERE (:id IS NULL OR id = :id) AND (:tenant IS NULL OR tenant = :tenant) AND (is_enabled OR NOT :enabled)
ORDER BY id
