-- note watch: a scheduler is here.
INSERT INTO schedule_watch (is_only, seen_at)
VALUES (1, :now)
ON CONFLICT (is_only) DO UPDATE SET seen_at = excluded.seen_at, words = words + 1
