-- gather stats: everything up to this place is counted, unless somebody else was faster.
UPDATE event_cursor SET position = :until, moved_at = :now WHERE consumer = :consumer AND position = :after
