-- sessions: the open ones; with :closed those that closed since that time too.
SELECT
    session.id, spec, opened_at, beat_at, beat, should_drain, closed_at,
    (SELECT count(*) FROM task_live WHERE state = 2 AND task_live.session = session.id)
FROM session
WHERE closed_at IS NULL OR (:closed_since IS NOT NULL AND closed_at >= :closed_since)
ORDER BY opened_at, session.id
