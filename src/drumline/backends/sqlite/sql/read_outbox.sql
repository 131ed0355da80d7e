-- read events: the rows behind a position.
SELECT seq, at, events, facts FROM outbox WHERE seq > :after ORDER BY seq LIMIT :limit
