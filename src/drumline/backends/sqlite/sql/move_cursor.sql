-- move a cursor: only by its holder, and only from where the holder saw it.
UPDATE event_cursor SET position = :new, moved_at = :now
WHERE consumer = :consumer AND holder = :holder AND position = :old
