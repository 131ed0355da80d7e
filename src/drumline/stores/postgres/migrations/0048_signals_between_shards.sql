-- Signals by correlation over several databases (major 1): tasks of other databases are registered where signals are
-- kept, and signals are given to them.

-- The task that a signal by correlation is given to, which may be in another database, and how often it was given;
-- `given_watch` is the version of the registration. In a row of a task: that this giving was refused.
ALTER TABLE drumline.signal
ADD COLUMN given_to uuid,
ADD COLUMN given_no int4,
ADD COLUMN given_watch int8;
CREATE INDEX signal_given ON drumline.signal (seq) WHERE given_to IS NOT NULL AND taken_at IS NULL;

-- The number of the map by which a wait was registered in all databases, and how often that was undone.
ALTER TABLE drumline.task_wait
ADD COLUMN registered int8,
ADD COLUMN unregistered int4;
CREATE INDEX task_wait_registered ON drumline.task_wait (coalesce(registered, -1), task_id) WHERE correlation IS NOT NULL;

-- Tasks of all databases that wait for signals by correlation, in the order in which they came.
CREATE TABLE drumline.signal_watch (
    seq int8 GENERATED ALWAYS AS IDENTITY,
    task_id uuid NOT NULL,
    at int8 NOT NULL,
    version int8 NOT NULL, -- another one with each registration
    tenant text NOT NULL,
    name text NOT NULL,
    key text NOT NULL,
    PRIMARY KEY (tenant, name, key, task_id)
);
CREATE UNIQUE INDEX signal_watch_in_order ON drumline.signal_watch (seq);
CREATE POLICY wall ON drumline.signal_watch USING (
    current_user NOT LIKE 'drumline\_tenant%' OR tenant = nullif(current_setting('drumline.tenant', true), '')
);
ALTER TABLE drumline.signal_watch ENABLE ROW LEVEL SECURITY;
