-- leave a cursor: let another holder have it at once.
UPDATE event_cursor SET holder = 0, held_until = 0 WHERE consumer = :consumer AND holder = :holder
