-- close a session in order.
UPDATE drumline.session
SET closed_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
WHERE id = :session::int8 AND closed_at IS NULL
RETURNING spec
