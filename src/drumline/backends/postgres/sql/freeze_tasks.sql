-- begin a bulk operation: take these tasks, and note which dead letter each has now.
--   :ids  each once
INSERT INTO drumline.bulk_item (bulk_id, seq, task_id, epoch)
SELECT
    :bulk::uuid, g.seq, g.id,
    (SELECT d.epoch FROM drumline.dead_letter AS d WHERE d.task_id = g.id)
FROM unnest(:ids::uuid []) WITH ORDINALITY AS g (id, seq)
