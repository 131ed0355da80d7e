-- pick events: which of these tasks name targets themselves.
--   :ids  JSON list
SELECT task.id
FROM json_each(:ids) AS given
CROSS JOIN task INDEXED BY task_with_targets
WHERE task.id = given.value AND instr(task.options, '"notify"') > 0
