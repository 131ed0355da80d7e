-- prune runs: the notes of old ones, but for those that wait.
-- GIVES how many there were
WITH old AS MATERIALIZED (
    SELECT run.schedule_id, run.fire_time
    FROM drumline.schedule_run AS run
    WHERE run.created_at < :before::int8 AND run.state <> 1
    ORDER BY run.created_at
    LIMIT :limit::int4
    FOR UPDATE SKIP LOCKED
),

pruned AS (
    DELETE FROM drumline.schedule_run AS run
    USING old
    WHERE run.schedule_id = old.schedule_id AND run.fire_time = old.fire_time
    RETURNING run.fire_time
)

SELECT count(*) FROM pruned
