-- submit: which of these tasks are stored already, because an earlier answer was lost.
SELECT task.id, task.due_at FROM drumline.task WHERE task.id = any(:ids::uuid [])
