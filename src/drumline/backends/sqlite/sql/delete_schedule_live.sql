-- delete schedules: where it stood.
DELETE FROM schedule_live WHERE id = :id
