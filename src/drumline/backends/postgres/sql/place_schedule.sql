-- change schedules: where it stands.
UPDATE drumline.schedule_live
SET state = :state::int2, fire_at = :fire_at::int8, due_at = :due_at::int8, reason = :reason::text
WHERE id = :id::uuid
