-- Units that move from one database to another (major 1): see docs/adr/0045-draining-a-shard.md.

-- Inactive copies of tasks, jobs and schedules: the rows of each as one document. No other statement sees them.
CREATE TABLE drumline.drain_copy (
    id uuid NOT NULL,
    version int8 NOT NULL,
    copied_at int8 NOT NULL,
    giver text NOT NULL,
    digest text NOT NULL,
    document text NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX drain_copy_by_giver ON drumline.drain_copy (giver, id);

-- Where units went that were taken out here, by their own ids and those of their tasks. The rows stay as long as the shard.
CREATE TABLE drumline.forward (
    id uuid NOT NULL,
    root uuid NOT NULL,
    version int8 NOT NULL,
    shard text NOT NULL,
    reserved text, -- the key of a job, or the name of a schedule
    PRIMARY KEY (id)
);
CREATE INDEX forward_by_root ON drumline.forward (root);
CREATE INDEX forward_by_shard ON drumline.forward (shard, id);
CREATE INDEX forward_by_reserved ON drumline.forward (reserved) WHERE reserved IS NOT NULL;

-- Units that came from another database: how often they were moved, and the version with which they arrived. The row
-- outlives the unit, so that a copy that comes too late is refused also when retention has deleted the unit.
CREATE TABLE drumline.arrival (
    id uuid NOT NULL,
    version int8 NOT NULL,
    moves int4 NOT NULL,
    PRIMARY KEY (id)
);
