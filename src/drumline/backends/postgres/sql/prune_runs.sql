-- prune runs: the notes of old ones, but for those that wait.
-- GIVES a row for each
DELETE FROM drumline.schedule_run
WHERE
    ctid = any(
        array(
            SELECT run.ctid
            FROM drumline.schedule_run AS run
            WHERE run.created_at < :before::int8 AND run.state <> 1
            ORDER BY run.created_at
            LIMIT :limit::int4
            FOR UPDATE SKIP LOCKED
        )
    )
RETURNING fire_time
