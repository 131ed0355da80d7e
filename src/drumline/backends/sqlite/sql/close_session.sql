-- close a session: in order (:beat NULL), or as dead if its beat number is still the one observed.
UPDATE session SET closed_at = :now, is_dead = :beat IS NOT NULL
WHERE id = :session AND closed_at IS NULL AND (:beat IS NULL OR beat = :beat)
RETURNING spec
