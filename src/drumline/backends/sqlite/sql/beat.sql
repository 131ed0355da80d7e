-- beat: note a sign of life. No row changes if the session is closed.
UPDATE session
SET beat = beat + 1, last_beat_at = beat_at, beat_at = :now, held = :held
WHERE id = :session AND closed_at IS NULL
