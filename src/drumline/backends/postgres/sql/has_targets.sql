-- listening: whether any task names targets itself. The index of those is asked, so it costs the same with any number of
-- tasks.
SELECT EXISTS (SELECT FROM drumline.task WHERE task.options LIKE '%"notify"%') AS has_targets
