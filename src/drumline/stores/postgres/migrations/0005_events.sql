-- Events (major 1): the outbox as a log that several consumers read, each at its own pace.

-- A row is either acts on tasks, as four lists of equal length, or facts: a JSON list of
-- [type, subject, tenant, data].
-- `position` is the row's place in the log. It is given to committed rows only, in one order for everybody, by the
-- sequencer: whoever has read all up to a position has missed nothing, which does not hold for seq.
ALTER TABLE drumline.outbox
ADD COLUMN position int8,
ADD COLUMN facts text;

CREATE INDEX outbox_unsequenced ON drumline.outbox (seq) WHERE position IS NULL;
CREATE UNIQUE INDEX outbox_by_position ON drumline.outbox (position) WHERE position IS NOT NULL;

-- One row: its lock makes one sequencer at a time, also through a pooler.
CREATE TABLE drumline.event_log (
    is_only bool PRIMARY KEY DEFAULT true CHECK (is_only),
    name text NOT NULL, -- tells the events of this database from those of any other
    position int8 NOT NULL -- the last one given
);
INSERT INTO drumline.event_log (name, position)
VALUES (substr(md5(random()::text || clock_timestamp()::text), 1, 8), 0);

-- How far each consumer has passed events on. Nothing above the lowest of them is dropped.
-- The holder is a random number of the process that passes them on, so that two do not do the same work.
CREATE TABLE drumline.event_cursor (
    consumer text PRIMARY KEY,
    position int8 NOT NULL,
    moved_at int8 NOT NULL,
    holder int8 NOT NULL DEFAULT 0,
    held_until int8 NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
