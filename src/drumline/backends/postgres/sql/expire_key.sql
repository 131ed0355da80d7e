-- rotate a key: the old one opens no longer than until :expires_at.
UPDATE drumline.api_key
SET expires_at = least(coalesce(expires_at, :expires_at::int8), :expires_at)
WHERE id = :id::uuid
