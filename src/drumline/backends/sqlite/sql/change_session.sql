-- change a session: what it serves from now on.
UPDATE session SET spec = json_set(spec, '$.queues', json(:queues), '$.capacity', :capacity)
WHERE id = :session AND closed_at IS NULL
