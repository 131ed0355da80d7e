-- prune: forget bulk operations that ended before a time, with their tasks, a few at once; and causes that have no dead
-- letters and were last seen before it.
-- GIVES how many operations
WITH gone AS (
    DELETE FROM drumline.bulk
    WHERE bulk.id IN (
        SELECT b.id FROM drumline.bulk AS b
        WHERE b.finished_at < :before::int8
        ORDER BY b.id
        LIMIT :limit::int4
        FOR UPDATE SKIP LOCKED
    )
    RETURNING bulk.id
),

items AS (
    DELETE FROM drumline.bulk_item WHERE bulk_item.bulk_id IN (SELECT gone.id FROM gone)
),

causes AS (
    DELETE FROM drumline.cause WHERE cause.count = 0 AND cause.last_at < :before
)

SELECT count(*) AS count FROM gone
