-- sealed otherwise: secrets that are not sealed with a key, by tenant and name, above :after_tenant, :after_name.
SELECT tenant, name, key_id, sealed FROM secret
WHERE key_id <> :key_id AND (:after_tenant IS NULL OR (tenant, name) > (:after_tenant, :after_name))
ORDER BY tenant, name
LIMIT :limit
