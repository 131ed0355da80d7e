-- drain a session: it is given no more tasks, and told so at its next beat.
UPDATE drumline.session SET should_drain = true WHERE id = :session::int8 AND closed_at IS NULL
RETURNING spec
