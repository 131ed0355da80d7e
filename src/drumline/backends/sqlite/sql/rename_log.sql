-- rename the log: its events have other ids from now on.
UPDATE event_log SET name = lower(hex(randomblob(4)))
RETURNING name
