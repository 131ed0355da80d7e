-- bulk operations: the tasks of one behind a place. What is NULL does not narrow.
--   :outcomes  JSON list
SELECT seq, task_id, outcome, error
FROM (
    SELECT
        item.seq,
        item.task_id,
        coalesce(item.outcome, CASE WHEN item.seq <= bulk.position THEN 'done' ELSE 'waiting' END) AS outcome,
        item.error
    FROM bulk_item AS item
    INNER JOIN bulk ON item.bulk_id = bulk.id
    WHERE
        item.bulk_id = :id
        AND item.seq > :after
        AND (NOT :refused OR item.outcome IS NOT NULL)
        AND (:tenant IS NULL OR bulk.tenant = :tenant)
)
WHERE :outcomes IS NULL OR outcome IN (SELECT value FROM json_each(:outcomes))
ORDER BY seq
LIMIT :limit
