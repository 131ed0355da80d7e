-- prune: which of these tasks are still as they were when somebody looked: there, not retried, not ended anew.
--   :ids  JSON list
SELECT task.id FROM json_each(:ids) AS given
INNER JOIN task ON given.value = task.id
WHERE
    NOT EXISTS (SELECT 1 FROM task_live WHERE id = task.id)
    AND (SELECT max(finished_at) FROM attempt WHERE task_id = task.id) < :before
