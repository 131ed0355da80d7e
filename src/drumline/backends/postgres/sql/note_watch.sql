-- note watch: a scheduler is here.
INSERT INTO drumline.schedule_watch AS w (seen_at)
VALUES (coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8))
ON CONFLICT (is_only) DO UPDATE SET seen_at = excluded.seen_at, words = w.words + 1
