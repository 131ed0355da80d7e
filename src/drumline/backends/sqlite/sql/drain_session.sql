-- drain a session: it is given no more tasks, and told so at its next beat.
UPDATE session SET should_drain = 1 WHERE id = :session AND closed_at IS NULL
RETURNING spec
