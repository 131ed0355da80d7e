-- survey: how many dead letters a filter finds, up to :limit, and when they failed. What is NULL does not narrow.
--   :causes  JSON list
SELECT count(*), min(at), max(at)
FROM (
    SELECT at FROM dead_letter
    WHERE
        (:causes IS NULL OR cause IN (SELECT value FROM json_each(:causes)))
        AND at >= :since
        AND at < :until
        AND (:reason IS NULL OR reason = :reason)
        AND (:job IS NULL OR job_id = :job)
        AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = :tag))
    LIMIT :limit
)
