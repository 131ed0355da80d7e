-- What workers use, as their last heartbeat said: bytes of memory, and processor time as a share of one core.
ALTER TABLE session ADD COLUMN memory INTEGER;
ALTER TABLE session ADD COLUMN cpu REAL;
