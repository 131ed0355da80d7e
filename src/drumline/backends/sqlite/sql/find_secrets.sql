-- find secrets: those of a tenant, by name.
SELECT tenant, name, key_id, sealed FROM secret
WHERE tenant = :tenant AND name IN (SELECT value FROM json_each(:names))
