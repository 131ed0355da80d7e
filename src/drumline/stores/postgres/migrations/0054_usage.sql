-- What workers use (major 1), as their last heartbeat said: bytes of memory, and processor time as a share of one core.
-- NULL where a heartbeat does not say. No index: heartbeats stay updates within a page.
ALTER TABLE drumline.session ADD COLUMN memory int8, ADD COLUMN cpu float8;
