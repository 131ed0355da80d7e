-- delete schedules: what it was.
DELETE FROM schedule WHERE id = :id
