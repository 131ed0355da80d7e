-- rotate a key: the old one opens no longer than until :expires_at.
UPDATE api_key SET expires_at = min(coalesce(expires_at, :expires_at), :expires_at) WHERE id = :id
