-- retry: keep what a task was given up to an epoch.
INSERT INTO payload_edit (task_id, epoch, at, payload)
SELECT id, :epoch, :now, payload FROM task WHERE id = :id
RETURNING payload
