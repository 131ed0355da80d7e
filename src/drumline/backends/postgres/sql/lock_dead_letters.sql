-- discard: lock the dead letters of tasks, so that nobody else resolves them meanwhile.
SELECT d.task_id FROM drumline.dead_letter AS d
WHERE d.task_id = any(:ids::uuid [])
ORDER BY d.task_id
FOR UPDATE
