-- dead letters: the latest below (:before_at, :before_task). What is NULL does not narrow.
--   :causes  JSON list
SELECT at, task_id FROM dead_letter
WHERE
    (:causes IS NULL OR cause IN (SELECT value FROM json_each(:causes)))
    AND (at, task_id) < (:before_at, :before_task)
    AND at >= :since
    AND at < :until
    AND (:reason IS NULL OR reason = :reason)
    AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = :tag))
ORDER BY at DESC, task_id DESC
LIMIT :limit
