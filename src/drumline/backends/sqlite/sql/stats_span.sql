-- gather stats: the last of the next rows of the log, and how many they are.
SELECT max(seq), count(*) FROM (SELECT seq FROM outbox WHERE seq > :after ORDER BY seq LIMIT :limit)
