-- secrets: replace those of a subscription, if they are still the old ones.
UPDATE drumline.subscription AS s
SET secrets = :secrets::text
WHERE s.id = :id::uuid AND (:tenant::text IS NULL OR s.tenant = :tenant) AND s.secrets = coalesce(:old::text, '[]')
RETURNING s.id
