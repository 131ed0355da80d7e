-- begin a bulk operation: take these tasks, and note which dead letter each has now.
--   :ids  JSON list, each once
INSERT INTO bulk_item (bulk_id, seq, task_id, epoch)
SELECT :bulk, given.key + 1, given.value, dead_letter.epoch
FROM json_each(:ids) AS given
LEFT JOIN dead_letter ON given.value = dead_letter.task_id
