-- bulk operations: the tasks of one behind a place. What is NULL does not narrow.
--   :refused  whether only outcomes are asked for that are kept with a reason
SELECT found.seq, found.task_id, found.outcome, found.error
FROM (
    SELECT
        item.seq,
        item.task_id,
        coalesce(item.outcome, CASE WHEN item.seq <= b.position THEN 'done' ELSE 'waiting' END) AS outcome,
        item.error
    FROM drumline.bulk_item AS item
    INNER JOIN drumline.bulk AS b ON item.bulk_id = b.id
    WHERE
        item.bulk_id = :id::uuid
        AND item.seq > :after::int4
        AND (NOT :refused::bool OR item.outcome IS NOT NULL)
        AND (:tenant::text IS NULL OR b.tenant = :tenant)
) AS found
WHERE :outcomes::text [] IS NULL OR found.outcome = any(:outcomes)
ORDER BY found.seq
LIMIT :limit::int4
