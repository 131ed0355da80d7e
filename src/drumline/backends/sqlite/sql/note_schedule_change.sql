-- change schedules: that it was changed.
UPDATE schedule_live SET version = version + 1, changed_at = :now WHERE id = :id
