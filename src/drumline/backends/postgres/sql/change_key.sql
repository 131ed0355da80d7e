-- change a key: what is NULL stays.
UPDATE drumline.api_key
SET is_enabled = coalesce(:is_enabled::bool, is_enabled), revoked_at = coalesce(revoked_at, :revoked_at::int8)
WHERE id = :id::uuid
