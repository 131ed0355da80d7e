-- dead letters: the latest of one job below (:before_at, :before_task). What is NULL does not narrow.
SELECT d.at, d.task_id FROM drumline.dead_letter AS d
WHERE
    d.job_id = :job::uuid
    AND (d.at, d.task_id) < (:before_at::int8, :before_task::uuid)
    AND d.at >= :since::int8
    AND d.at < :until::int8
    AND (:causes::int8 [] IS NULL OR d.cause = any(:causes))
    AND (:reason::text IS NULL OR d.reason = :reason)
    AND (:tag::text IS NULL OR d.tags ? :tag)
ORDER BY d.at DESC, d.task_id DESC
LIMIT :limit::int4
