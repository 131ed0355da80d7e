-- pause in a session: the task names that it is not handed.
UPDATE session SET spec = json_set(spec, '$.paused', json(:names))
WHERE id = :session AND closed_at IS NULL
