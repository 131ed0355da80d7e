-- sessions: the open ones; with :closed_since those that closed since that time too.
SELECT
    s.id, s.spec, s.opened_at, s.beat_at, s.beat, s.should_drain, s.closed_at,
    CASE WHEN s.closed_at IS NULL THEN cardinality(s.held) ELSE 0 END AS held
FROM drumline.session AS s
WHERE s.closed_at IS NULL OR s.closed_at >= :closed_since::int8
ORDER BY s.opened_at, s.id
