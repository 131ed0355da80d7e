-- Shards: one installation over several databases (major 1). A lone database has no rows here.

-- Who this database is, in an installation of several: one row. A database without one has every slot. In the directory,
-- whose name is main, each is open by its entry 0 until a row of drumline.slot_entry says otherwise.
CREATE TABLE drumline.shard_self (
    is_only bool NOT NULL DEFAULT true CHECK (is_only),
    name text NOT NULL,
    directory uuid NOT NULL,
    PRIMARY KEY (is_only)
);

-- The entries of the map that concern this database. An entry with closed_at takes no more new work, and names who does.
CREATE TABLE drumline.slot_entry (
    slot int4 NOT NULL CHECK (slot BETWEEN 0 AND 4095),
    version int4 NOT NULL CHECK (version >= 0),
    since int8 NOT NULL,
    closed_at int8,
    taker text,
    PRIMARY KEY (slot, version)
);

-- In the directory: the shards besides itself, their addresses sealed, and the map.
CREATE TABLE drumline.shard (
    name text NOT NULL,
    store_url bytea NOT NULL,
    queue_url bytea,
    state text NOT NULL DEFAULT 'active',
    added_at int8 NOT NULL,
    PRIMARY KEY (name)
);
CREATE TABLE drumline.slot_owner (
    slot int4 NOT NULL CHECK (slot BETWEEN 0 AND 4095),
    version int4 NOT NULL CHECK (version >= 0),
    shard text NOT NULL,
    since int8 NOT NULL,
    PRIMARY KEY (slot, version)
);
-- Rises in every transaction that changes the two tables above: what processes look at to learn of it.
CREATE TABLE drumline.shard_map (
    is_only bool NOT NULL DEFAULT true CHECK (is_only),
    number int8 NOT NULL,
    PRIMARY KEY (is_only)
);

-- The fence: raises DL001 unless every slot is open here by the entry that is named, and no id is older than that entry.
-- The lock is shared by submissions; who closes a slot takes it alone, and so waits for those that have passed. What is read
-- after it is read by a snapshot of its own, because the function is volatile: never by one from before the lock.
-- Slot by slot, in PL/pgSQL, whose plans are kept: this is in the way of every submission.
CREATE FUNCTION drumline.fence(slots int4 [], versions int4 [], oldest int8 []) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    entry drumline.slot_entry;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(7237976664086179700);
    -- Nobody's part: a database becomes one under the lock.
    IF NOT EXISTS (SELECT FROM drumline.shard_self) THEN
        RETURN;
    END IF;
    FOR i IN 1 .. cardinality(slots) LOOP
        SELECT s.* INTO entry FROM drumline.slot_entry AS s WHERE s.slot = slots[i] ORDER BY s.version DESC LIMIT 1;
        IF NOT FOUND THEN
            CONTINUE WHEN versions[i] = 0 AND NOT EXISTS (SELECT FROM drumline.shard_self AS me WHERE me.name <> 'main');
        ELSIF entry.version = versions[i] AND entry.closed_at IS NULL AND entry.since <= oldest[i] THEN
            CONTINUE;
        END IF;
        RAISE EXCEPTION 'moved' USING ERRCODE = 'DL001';
    END LOOP;
END $$;

-- Whether a slot is open here by an entry: by the newest row of the slot, or by the entry 0 that a directory begins with.
CREATE FUNCTION drumline.is_open(a_slot int4, a_version int4, an_oldest int8) RETURNS bool
LANGUAGE sql STABLE AS $$
    SELECT coalesce(
        (
            SELECT s.version = a_version AND s.closed_at IS NULL AND s.since <= an_oldest
            FROM drumline.slot_entry AS s
            WHERE s.slot = a_slot
            ORDER BY s.version DESC
            LIMIT 1
        ),
        a_version = 0 AND NOT EXISTS (SELECT FROM drumline.shard_self AS me WHERE me.name <> 'main')
    )
$$;
