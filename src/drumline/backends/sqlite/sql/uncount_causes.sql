-- retry, discard, prune: count the dead letters of these tasks no more.
--   :ids  JSON list
UPDATE cause SET count = cause.count - gone.count
FROM (
    SELECT cause, count(*) AS count FROM dead_letter
    WHERE task_id IN (SELECT value FROM json_each(:ids))
    GROUP BY cause
) AS gone
WHERE cause.id = gone.cause
