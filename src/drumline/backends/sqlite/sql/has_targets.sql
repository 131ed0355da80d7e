-- listening: whether any task names targets itself. The index of those is asked, so it costs the same with any number of
-- tasks.
SELECT EXISTS (SELECT 1 FROM task INDEXED BY task_with_targets WHERE instr(options, '"notify"') > 0)
