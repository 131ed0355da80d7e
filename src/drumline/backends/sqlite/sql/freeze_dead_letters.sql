-- begin a bulk operation: take the dead letters that a filter finds now, the oldest first, up to :limit.
--   :causes  JSON list. What is NULL does not narrow
INSERT INTO bulk_item (bulk_id, seq, task_id, epoch)
SELECT :bulk, row_number() OVER (ORDER BY at, task_id), task_id, epoch
FROM dead_letter
WHERE
    (:causes IS NULL OR cause IN (SELECT value FROM json_each(:causes)))
    AND at >= :since
    AND at < :until
    AND (:reason IS NULL OR reason = :reason)
    AND (:job IS NULL OR job_id = :job)
    AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = :tag))
ORDER BY at, task_id
LIMIT :limit
