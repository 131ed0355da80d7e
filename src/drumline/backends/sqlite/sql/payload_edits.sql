-- dead letters: what a task was given before.
SELECT epoch, at, payload FROM payload_edit WHERE task_id = :id ORDER BY epoch
