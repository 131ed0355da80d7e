-- prune: forget sessions that closed before a time, but none whose tasks have not been freed yet: a reap finds those
-- by their session.
DELETE FROM session
WHERE
    closed_at < :before
    AND NOT EXISTS (SELECT 1 FROM task_live WHERE state = 2 AND task_live.session = session.id)
