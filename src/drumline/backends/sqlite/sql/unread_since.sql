-- prune: when the first row was written that some consumer has not passed on.
SELECT at FROM outbox WHERE seq > (SELECT min(position) FROM event_cursor) ORDER BY seq LIMIT 1
