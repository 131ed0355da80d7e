-- begin a bulk operation: take the dead letters that a filter finds now, the oldest first, up to :limit.
-- What is NULL does not narrow.
-- GIVES how many
WITH frozen AS (
    INSERT INTO drumline.bulk_item (bulk_id, seq, task_id, epoch)
    SELECT :bulk::uuid, row_number() OVER (ORDER BY d.at, d.task_id), d.task_id, d.epoch
    FROM drumline.dead_letter AS d
    WHERE
        (:causes::int8 [] IS NULL OR d.cause = any(:causes))
        AND d.at >= :since::int8
        AND d.at < :until::int8
        AND (:reason::text IS NULL OR d.reason = :reason)
        AND (:job::uuid IS NULL OR d.job_id = :job)
        AND (:tag::text IS NULL OR d.tags ? :tag)
    ORDER BY d.at, d.task_id
    LIMIT :limit::int4
    RETURNING 1
)

SELECT count(*) AS count FROM frozen
