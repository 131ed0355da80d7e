-- change schedules: where it stands.
UPDATE schedule_live SET state = :state, fire_at = :fire_at, due_at = :due_at, reason = :reason WHERE id = :id
