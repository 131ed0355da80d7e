-- prune: the edges of tasks that go.
--   :ids  JSON list: all tasks of their jobs
DELETE FROM task_edge WHERE parent IN (SELECT value FROM json_each(:ids))
