-- retry: give a task another payload.
UPDATE task SET payload = :payload WHERE id = :id
