-- find secrets: those of a tenant, by name.
SELECT s.tenant, s.name, s.key_id, s.sealed FROM drumline.secret AS s
WHERE s.tenant = :tenant::text AND s.name = any(:names::text [])
