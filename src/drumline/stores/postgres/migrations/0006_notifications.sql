-- Notifications (major 1): who is told of what, and what became of it. Numbers of channels and states are those of
-- core/target.py and core/delivery.py.

-- Standing orders. `filter` and `secrets` are JSON; whoever reads this table can sign in our name.
CREATE TABLE drumline.subscription (
    id uuid PRIMARY KEY,
    created_at int8 NOT NULL,
    channel int2 NOT NULL,
    is_enabled bool NOT NULL DEFAULT true,
    tenant text NOT NULL,
    name text NOT NULL,
    filter text NOT NULL,
    address text NOT NULL,
    disabled_reason text,
    secrets text NOT NULL DEFAULT '[]',
    UNIQUE (tenant, name)
);

-- What signs the webhooks that tasks and jobs name themselves.
CREATE TABLE drumline.signing_secret (
    tenant text PRIMARY KEY,
    secrets text NOT NULL
);

-- One event on its way to one target. While it waits, `next_at` says when it is due; while somebody tries it, when that
-- one is given up as lost.
CREATE TABLE drumline.delivery (
    id uuid PRIMARY KEY,
    subscription uuid, -- NULL if a task or job names the target itself
    created_at int8 NOT NULL,
    finished_at int8,
    next_at int8,
    holder int8 NOT NULL DEFAULT 0, -- who tries it
    attempts int4 NOT NULL DEFAULT 0,
    latency_ms int4,
    status int2,
    channel int2 NOT NULL,
    state int2 NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 2),
    tenant text NOT NULL,
    event_id text NOT NULL,
    event_type text NOT NULL,
    subject text NOT NULL,
    address text NOT NULL,
    event text NOT NULL,
    response text,
    error text
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
-- An event reaches a target once.
CREATE UNIQUE INDEX delivery_once ON drumline.delivery (
    event_id, address, coalesce(subscription, '00000000-0000-0000-0000-000000000000'::uuid)
);
-- Who waits: one target after the other, each in the order of time.
CREATE INDEX delivery_waiting ON drumline.delivery (channel, address, tenant, next_at) WHERE state = 0;
-- Whoever has an id must not come to it through these: where the table has just been empty, all ways look equally short.
CREATE INDEX delivery_by_subscription ON drumline.delivery (subscription, id) WHERE subscription IS NOT NULL;
CREATE INDEX delivery_by_subject ON drumline.delivery (subject, id) WHERE subject <> '';
CREATE INDEX delivery_failed ON drumline.delivery (id) WHERE state = 2;

-- When somebody may get the next mail: by then the mails of the past have been spread out at the usual pace.
CREATE TABLE drumline.mailbox (
    tenant text NOT NULL,
    address text NOT NULL,
    paced_to int8 NOT NULL,
    PRIMARY KEY (tenant, address)
) WITH (fillfactor = 50);

-- Tasks that name targets themselves are few. So the notifier need not look at every task that ends: it asks this
-- index, and when the index is empty nobody.
CREATE INDEX task_with_targets ON drumline.task (id) WHERE options LIKE '%"notify"%';
