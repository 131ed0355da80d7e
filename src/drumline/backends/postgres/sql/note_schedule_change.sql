-- change schedules: that it was changed.
UPDATE drumline.schedule_live
SET version = version + 1, changed_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
WHERE id = :id::uuid
