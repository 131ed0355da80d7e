-- prune: drop events that nobody took for as long as ended tasks are kept. They were written in the order of time, so
-- only the first :limit of them are looked at.
DELETE FROM outbox
WHERE at < :before AND seq IN (SELECT seq FROM outbox ORDER BY seq LIMIT :limit)
