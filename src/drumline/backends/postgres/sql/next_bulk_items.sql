-- advance a bulk operation: its next tasks, and which dead letter each of them has now.
SELECT
    item.seq, item.task_id, item.epoch,
    (SELECT d.epoch FROM drumline.dead_letter AS d WHERE d.task_id = item.task_id) AS now_epoch
FROM drumline.bulk_item AS item
WHERE item.bulk_id = :id::uuid AND item.seq > :position::int4
ORDER BY item.seq
LIMIT :limit::int4
