-- rename the log: its events have other ids from now on.
UPDATE drumline.event_log SET name = substr(md5(gen_random_uuid()::text), 1, 8)
RETURNING name
