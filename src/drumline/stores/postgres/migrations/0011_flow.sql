-- Fair shares between tenants, and limits on how much runs at once and how often (major 1).

ALTER TABLE drumline.tenant ADD COLUMN weight int4; -- NULL means 1, like everybody's

CREATE TABLE drumline.flow_limit (
    id int4 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text NOT NULL,
    name text NOT NULL,
    queue text, -- NULL means every queue
    task text, -- NULL means every task name
    keyed_by text, -- where the key of a task is found; NULL means that all its tasks count together
    max_concurrent int4, -- how many at once; NULL means any number
    rate int4, -- how many starts in any stretch of period_ms
    period_ms int8,
    created_at int8 NOT NULL,
    UNIQUE (tenant, name)
);

-- Keys as small numbers.
CREATE TABLE drumline.limit_key (
    id int4 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text NOT NULL,
    key text NOT NULL,
    UNIQUE (key, tenant)
);

-- What was started under a limit. It takes a place among those running for as long as task_live has this very lease,
-- so that whatever ends the lease frees the place; and one in the rate until its period has passed.
CREATE TABLE drumline.slot (
    task_id uuid NOT NULL,
    started_at int8 NOT NULL,
    limit_id int4 NOT NULL,
    limit_key int4 NOT NULL, -- 0 if the limit has no keys
    epoch int4 NOT NULL,
    PRIMARY KEY (limit_id, limit_key, task_id, epoch)
) WITH (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- A lane under a limit with keys has a twin: its tasks go there when their key was looked up, ordered by it.
ALTER TABLE drumline.lane ADD COLUMN is_keyed bool NOT NULL DEFAULT false;
ALTER TABLE drumline.lane DROP CONSTRAINT lane_name_queue_tenant_priority_key;
CREATE UNIQUE INDEX lane_words ON drumline.lane (name, queue, tenant, priority, is_keyed);
ALTER TABLE drumline.task_live ADD COLUMN limit_key int4 NOT NULL DEFAULT 0; -- fits where the row was padded
CREATE INDEX task_live_keyed ON drumline.task_live (lane, limit_key, due_at, id)
WHERE limit_key > 0 AND due_at IS NOT NULL;
