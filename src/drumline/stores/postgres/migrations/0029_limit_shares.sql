-- Limits over several databases (major 1): each has a share of a limit, and shares move by transfers. A lone database has no
-- rows here. What a limit allows is always the sum of all shares and of all transfers that the taker has not applied.

-- 0: the limit is whole here. 1: it is split, and this is the directory, which has what was not given to others.
-- 2: a copy of the directory's, which has what was given to it.
ALTER TABLE drumline.flow_limit ADD COLUMN split int2 NOT NULL DEFAULT 0;

-- Which state of the directory's limits this database knows; in the directory, how often they have changed.
CREATE TABLE drumline.limit_definitions (
    is_only bool NOT NULL DEFAULT true CHECK (is_only),
    version int8 NOT NULL,
    last_id int4 NOT NULL, -- the newest limit there was then: an unknown one that is older was deleted
    is_copy bool NOT NULL DEFAULT false,
    directory text NOT NULL DEFAULT '', -- whose they are, if it is a copy
    is_closed bool NOT NULL DEFAULT false, -- takes no more transfers: it is leaving the installation
    PRIMARY KEY (is_only)
);

-- What this database was given of a limit, less what it gave; no row means nothing. In the directory, which begins with the
-- whole limit, it is below 0. A ceiling holds until its time: it lets tasks end that another database waits for.
CREATE TABLE drumline.limit_share (
    changed_at int8 NOT NULL,
    ceiling_until int8,
    limit_id int4 NOT NULL,
    limit_key int4 NOT NULL, -- 0 if the limit has no keys
    running int4 NOT NULL DEFAULT 0,
    starts int4 NOT NULL DEFAULT 0,
    running_ceiling int4,
    starts_ceiling int4,
    PRIMARY KEY (limit_id, limit_key)
);

-- What was taken from a share here, and is to be added to that of the taker.
CREATE TABLE drumline.limit_transfer (
    number int8 NOT NULL,
    limit_id int4 NOT NULL,
    limit_key int4 NOT NULL,
    running int4 NOT NULL,
    starts int4 NOT NULL,
    taker text NOT NULL,
    PRIMARY KEY (taker, number)
);

-- The last number of a transfer to another database, and the last one from it that was applied here.
CREATE TABLE drumline.limit_peer (
    sent int8 NOT NULL DEFAULT 0,
    received int8 NOT NULL DEFAULT 0,
    is_gone bool NOT NULL DEFAULT false,
    name text NOT NULL,
    PRIMARY KEY (name)
);

CREATE POLICY wall ON drumline.limit_share USING (
    current_user NOT LIKE 'drumline\_tenant%'
    OR EXISTS (SELECT FROM drumline.flow_limit AS whose WHERE whose.id = limit_share.limit_id OFFSET 0)
);
ALTER TABLE drumline.limit_share ENABLE ROW LEVEL SECURITY;
