-- subscriptions: oldest first. What is NULL does not narrow.
SELECT s.id, s.tenant, s.name, s.filter, s.channel, s.address, s.created_at, s.is_enabled, s.disabled_reason
FROM drumline.subscription AS s
WHERE
    (:id::uuid IS NULL OR s.id = :id)
    AND (:tenant::text IS NULL OR s.tenant = :tenant)
    AND (s.is_enabled OR NOT :enabled::bool)
ORDER BY s.id
