-- add schedules: where it stands at first.
INSERT INTO schedule_live (id, state, fire_at, due_at, changed_at)
VALUES (:id, :state, :fire_at, :due_at, :now)
