-- dead letters: what a task was given before.
SELECT e.epoch, e.at, e.payload FROM drumline.payload_edit AS e
WHERE e.task_id = :id::uuid
ORDER BY e.epoch
