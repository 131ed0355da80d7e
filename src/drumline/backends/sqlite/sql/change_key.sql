-- change a key: what is NULL stays.
UPDATE api_key
SET is_enabled = coalesce(:is_enabled, is_enabled), revoked_at = coalesce(revoked_at, :revoked_at)
WHERE id = :id
