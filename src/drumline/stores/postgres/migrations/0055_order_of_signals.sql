-- The numbers of signals (major 1): a signal by correlation is taken and given by its number. Not unique: tasks that were moved
-- here by earlier releases brought the numbers of their own signals along, which others may have here.
CREATE INDEX signal_in_order ON drumline.signal (seq);

-- By age: not of the rows `WHERE task_id IS NULL`. PostgreSQL took that index for looking up a key, too, if it planned that while
-- the table was empty, and read all of it.
DROP INDEX drumline.signal_by_age;
CREATE INDEX signal_by_age ON drumline.signal (at) WHERE key <> '';
