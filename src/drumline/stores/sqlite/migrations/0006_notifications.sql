-- Notifications: who is told of what, and what became of it. Numbers of channels and states are those of
-- core/target.py and core/delivery.py.

-- Standing orders. `filter` and `secrets` are JSON; whoever reads this table can sign in our name.
CREATE TABLE subscription (
    id TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    channel INTEGER NOT NULL,
    is_enabled INTEGER NOT NULL DEFAULT 1,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    filter TEXT NOT NULL,
    address TEXT NOT NULL,
    disabled_reason TEXT,
    secrets TEXT NOT NULL DEFAULT '[]',
    UNIQUE (tenant, name)
);

-- What signs the webhooks that tasks and jobs name themselves.
CREATE TABLE signing_secret (
    tenant TEXT PRIMARY KEY,
    secrets TEXT NOT NULL
) WITHOUT ROWID;

-- One event on its way to one target. While it waits, `next_at` says when it is due; while somebody tries it, when that
-- one is given up as lost.
CREATE TABLE delivery (
    id TEXT PRIMARY KEY,
    subscription TEXT, -- NULL if a task or job names the target itself
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    next_at INTEGER,
    holder INTEGER NOT NULL DEFAULT 0, -- who tries it
    attempts INTEGER NOT NULL DEFAULT 0,
    latency_ms INTEGER,
    status INTEGER,
    channel INTEGER NOT NULL,
    state INTEGER NOT NULL DEFAULT 0 CHECK (state IN (0, 1, 2)),
    tenant TEXT NOT NULL,
    event_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    subject TEXT NOT NULL,
    address TEXT NOT NULL,
    event TEXT NOT NULL,
    response TEXT,
    error TEXT
);
-- An event reaches a target once.
CREATE UNIQUE INDEX delivery_once ON delivery (event_id, address, coalesce(subscription, ''));
-- Who waits: one target after the other, each in the order of time.
CREATE INDEX delivery_waiting ON delivery (channel, address, tenant, next_at) WHERE state = 0;
CREATE INDEX delivery_by_subscription ON delivery (subscription, id) WHERE subscription IS NOT NULL;
CREATE INDEX delivery_by_subject ON delivery (subject, id);
CREATE INDEX delivery_failed ON delivery (id) WHERE state = 2;

-- When somebody may get the next mail: by then the mails of the past have been spread out at the usual pace.
CREATE TABLE mailbox (
    tenant TEXT NOT NULL,
    address TEXT NOT NULL,
    paced_to INTEGER NOT NULL,
    PRIMARY KEY (tenant, address)
) WITHOUT ROWID;

-- Tasks that name targets themselves are few. So the notifier need not look at every task that ends: it asks this
-- index, and when the index is empty nobody.
CREATE INDEX task_with_targets ON task (id) WHERE instr(options, '"notify"') > 0;
