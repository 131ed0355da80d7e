-- watch: the time, when a scheduler was last here, what is due next, and whether some run waits for another.
SELECT
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    (SELECT w.seen_at FROM drumline.schedule_watch AS w),
    coalesce((SELECT w.words FROM drumline.schedule_watch AS w), 0),
    (SELECT live.due_at FROM drumline.schedule_live AS live WHERE live.due_at IS NOT NULL ORDER BY live.due_at LIMIT 1),
    (
        SELECT run.start_at FROM drumline.schedule_run AS run
        WHERE run.state = 1 AND run.start_at IS NOT NULL
        ORDER BY run.start_at LIMIT 1
    ),
    EXISTS (SELECT FROM drumline.schedule_live AS live WHERE live.waiting > 0)
