-- advance a bulk operation: its next tasks, and which dead letter each of them has now.
-- GIVES one JSON list of [seq, task id, epoch of the dead letter that was chosen, epoch of the one that is there]
SELECT json_group_array(json_array(seq, task_id, epoch, now_epoch))
FROM (
    SELECT item.seq, item.task_id, item.epoch, dead_letter.epoch AS now_epoch
    FROM bulk_item AS item
    LEFT JOIN dead_letter ON item.task_id = dead_letter.task_id
    WHERE item.bulk_id = :id AND item.seq > :position
    ORDER BY item.seq
    LIMIT :limit
)
