-- secrets: replace those of a tenant, if they are still the old ones; NULL means that there were none.
INSERT INTO drumline.signing_secret AS s (tenant, secrets)
VALUES (:tenant::text, :secrets::text)
ON CONFLICT (tenant) DO UPDATE SET secrets = excluded.secrets
WHERE s.secrets = :old::text
RETURNING s.tenant
