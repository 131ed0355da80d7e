-- settle, reap, cancel: tasks that ended stand nowhere any more.
--   :ids  JSON list, each checked in this transaction
DELETE FROM task_live WHERE id IN (SELECT value FROM json_each(:ids))
