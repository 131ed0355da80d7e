-- Whether a shard takes copies of units from others (major 1): not while it is being removed. Who keeps a copy shares the
-- lock of the row, so that closing waits for copies that are on their way.
ALTER TABLE drumline.shard_self ADD COLUMN takes_copies bool NOT NULL DEFAULT true;
