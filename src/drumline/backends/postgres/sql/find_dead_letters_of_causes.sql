-- dead letters: the latest of some causes below (:before_at, :before_task). What is NULL does not narrow.
SELECT head.at, head.task_id
FROM unnest(:causes::int8 []) AS g (cause)
CROSS JOIN LATERAL (
    SELECT d.at, d.task_id FROM drumline.dead_letter AS d
    WHERE
        d.cause = g.cause
        AND (d.at, d.task_id) < (:before_at::int8, :before_task::uuid)
        AND d.at >= :since::int8
        AND d.at < :until::int8
        AND (:reason::text IS NULL OR d.reason = :reason)
        AND (:tag::text IS NULL OR d.tags ? :tag)
    ORDER BY d.at DESC, d.task_id DESC
    LIMIT :limit::int4
) AS head
ORDER BY head.at DESC, head.task_id DESC
LIMIT :limit
