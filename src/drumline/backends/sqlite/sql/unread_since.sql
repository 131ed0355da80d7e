-- prune: when the earliest was written of the first :limit rows that some consumer has not passed on.
-- GIVES that time, NULL if there is none or no consumer, and how many rows were looked at
SELECT min(unread.at) AS at, count(*) AS count
FROM (
    SELECT at FROM outbox WHERE seq > (SELECT min(position) FROM event_cursor) ORDER BY seq LIMIT :limit
) AS unread
