-- survey: how many dead letters a filter finds, up to :limit, and when they failed. What is NULL does not narrow.
SELECT count(*) AS count, min(found.at) AS oldest_at, max(found.at) AS newest_at
FROM (
    SELECT d.at FROM drumline.dead_letter AS d
    WHERE
        (:causes::int8 [] IS NULL OR d.cause = any(:causes))
        AND d.at >= :since::int8
        AND d.at < :until::int8
        AND (:reason::text IS NULL OR d.reason = :reason)
        AND (:job::uuid IS NULL OR d.job_id = :job)
        AND (:tag::text IS NULL OR d.tags ? :tag)
    LIMIT :limit::int4
) AS found
