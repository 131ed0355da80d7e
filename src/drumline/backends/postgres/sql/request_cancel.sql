-- cancel: ask running tasks to stop; their workers are told at their next beat.
UPDATE drumline.task_live SET cancel_requested = true WHERE id = any(:ids::uuid []) AND state = 2
