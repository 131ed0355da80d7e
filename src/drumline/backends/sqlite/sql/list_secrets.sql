-- list secrets: by tenant and name, above the pair :after_tenant, :after_name.
SELECT tenant, name, version, key_id, created_at, updated_at FROM secret
WHERE
    (:tenant IS NULL OR tenant = :tenant)
    AND (:after_tenant IS NULL OR (tenant, name) > (:after_tenant, :after_name))
ORDER BY tenant, name
LIMIT :limit
