-- delete schedules: the notes of its runs.
DELETE FROM schedule_run WHERE schedule_id = :id
