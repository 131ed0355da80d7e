-- sealed otherwise: secrets that are not sealed with a key, by tenant and name, above :after_tenant, :after_name.
SELECT s.tenant, s.name, s.key_id, s.sealed FROM drumline.secret AS s
WHERE
    s.key_id <> :key_id::text
    AND (:after_tenant::text IS NULL OR (s.tenant, s.name) > (:after_tenant, :after_name::text))
ORDER BY s.tenant, s.name
LIMIT :limit::int4
