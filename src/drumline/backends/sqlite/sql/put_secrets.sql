-- secrets: replace those of a subscription, if they are still the old ones.
UPDATE subscription SET secrets = :secrets
WHERE id = :id AND (:tenant IS NULL OR tenant = :tenant) AND secrets = coalesce(:old, '[]')
