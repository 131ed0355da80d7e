-- cancel, reschedule, retry, discard: lock tasks, so that nobody gives them a live row or prunes them meanwhile.
SELECT task.id FROM drumline.task
WHERE task.id = any(:ids::uuid [])
ORDER BY task.id
FOR NO KEY UPDATE
