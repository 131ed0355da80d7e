-- resume: tasks that wait to be claimed have to wait for others again.
--   transition  queued -> blocked
--   fence       epoch rises
--   :ids        JSON list; those that were claimed meanwhile are left alone
-- GIVES those that wait for others now
UPDATE task_live SET state = 0, due_at = NULL, epoch = epoch + 1
WHERE id IN (SELECT value FROM json_each(:ids)) AND state = 1
RETURNING id, epoch
