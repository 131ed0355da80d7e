-- watch: when a scheduler was last here, what is due next, and whether some run waits for another.
SELECT
    (SELECT seen_at FROM schedule_watch),
    coalesce((SELECT words FROM schedule_watch), 0),
    (SELECT min(due_at) FROM schedule_live WHERE due_at IS NOT NULL),
    (SELECT min(start_at) FROM schedule_run WHERE state = 1 AND start_at IS NOT NULL),
    EXISTS (SELECT 1 FROM schedule_live WHERE waiting > 0)
