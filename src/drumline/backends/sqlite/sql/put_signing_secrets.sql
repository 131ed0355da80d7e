-- secrets: replace those of a tenant, if they are still the old ones; NULL means that there were none.
INSERT INTO signing_secret (tenant, secrets) VALUES (:tenant, :secrets)
ON CONFLICT (tenant) DO UPDATE SET secrets = excluded.secrets WHERE secrets = :old
