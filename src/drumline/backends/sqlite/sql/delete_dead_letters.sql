-- retry, discard, prune: drop the dead letters of these tasks.
--   :ids  JSON list
DELETE FROM dead_letter WHERE task_id IN (SELECT value FROM json_each(:ids))
