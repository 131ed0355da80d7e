-- list secrets: by tenant and name, above the pair :after_tenant, :after_name.
SELECT s.tenant, s.name, s.version, s.key_id, s.created_at, s.updated_at FROM drumline.secret AS s
WHERE
    (:tenant::text IS NULL OR s.tenant = :tenant)
    AND (:after_tenant::text IS NULL OR (s.tenant, s.name) > (:after_tenant, :after_name::text))
ORDER BY s.tenant, s.name
LIMIT :limit::int4
