-- gather stats: the last of the next rows of the log, and how many they are.
SELECT max(o.position) AS last, count(*) AS count
FROM (
    SELECT log.position FROM drumline.outbox AS log
    WHERE log.position > :after::int8
    ORDER BY log.position
    LIMIT :limit::int4
) AS o
