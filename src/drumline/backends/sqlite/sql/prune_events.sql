-- prune events: drop rows that every consumer has passed on, those written before a time and all but the last :most.
-- Only the first :limit are looked at: they were written in the order of time.
DELETE FROM outbox
WHERE
    seq IN (SELECT seq FROM outbox ORDER BY seq LIMIT :limit)
    AND seq <= coalesce((SELECT min(position) FROM event_cursor), seq)
    AND (at < :before OR seq <= (SELECT seq FROM sqlite_sequence WHERE name = 'outbox') - :most)
