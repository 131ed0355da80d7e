-- What figures are counted from, beside what happened, so that tasks need not be looked up for them (major 1).
-- Both are NULL where they are not known, or in rows of before.
ALTER TABLE drumline.outbox ADD lane int4; -- of all tasks of the row, if it is one
ALTER TABLE drumline.attempt ADD due_at int8; -- when the task was due that was claimed
