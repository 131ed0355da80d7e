-- name: shard_identity
-- shards: who this database is, in an installation of several.
SELECT shard_self.name, shard_self.directory FROM drumline.shard_self

-- name: join_installation
-- shards: become a part of an installation; who is one already stays what it is.
INSERT INTO drumline.shard_self (name, directory)
VALUES (:name::text, :directory::uuid)
ON CONFLICT DO NOTHING

-- name: leave_installation
-- shards: become a database of its own again, with nothing in it.
DELETE FROM drumline.shard_self WHERE name = :name::text AND directory = :directory::uuid
RETURNING name

-- name: forget_moved
-- shards: forget what an empty database has left of what it held: where that went, and its keys. Its entries of the map stay, so
-- that it refuses what is routed by an old one.
WITH forwards AS (
    DELETE FROM drumline.forward
),

arrivals AS (
    DELETE FROM drumline.arrival
),

copies AS (
    DELETE FROM drumline.drain_copy
)

DELETE FROM drumline.idempotency AS i
WHERE NOT EXISTS (SELECT FROM drumline.task WHERE task.id = i.task_id)

-- name: forget_keys
-- submit: forget the idempotency keys of tasks that were deleted in another database, each only if it is still that task's.
--   locks  keys in one order
WITH stale AS MATERIALIZED (
    SELECT i.task_id FROM drumline.idempotency AS i
    WHERE
        i.key = any(:keys::text []) AND i.task_id = any(:tasks::uuid [])
        AND NOT EXISTS (SELECT FROM drumline.task WHERE task.id = i.task_id OFFSET 0)
    ORDER BY i.key, i.tenant
    FOR UPDATE
)

DELETE FROM drumline.idempotency AS i
WHERE i.key = any(:keys) AND i.task_id = any(ARRAY(SELECT stale.task_id FROM stale))

-- name: fence
-- schedules, signal: raises DL001 unless these slots are open here, each by a version, and not after the time of an id.
SELECT drumline.fence(:slots::int4 [], :versions::int4 [], :oldest::int8 [])

-- name: closed_since
-- children: since when this database took new work of a slot, if it takes no more. What is closed stays so.
SELECT newest.since
FROM (
    SELECT s.since, s.closed_at FROM drumline.slot_entry AS s
    WHERE s.slot = :slot::int4
    ORDER BY s.version DESC
    LIMIT 1
) AS newest
WHERE newest.closed_at IS NOT NULL

-- name: lock_slots
-- shards: wait for submissions that have passed the fence, and let no other pass until this transaction ends.
SELECT pg_advisory_xact_lock(7237976664086179700)

-- name: has_work
-- shards: whether there is a task, a job or a schedule here.
SELECT
    EXISTS (SELECT FROM drumline.task)
    OR EXISTS (SELECT FROM drumline.job)
    OR EXISTS (SELECT FROM drumline.schedule) AS has_work

-- name: own_entries
-- shards: the entries of the map that concern this database.
SELECT slot.slot, slot.version, slot.since, slot.closed_at, slot.taker
FROM drumline.slot_entry AS slot
ORDER BY slot.slot, slot.version

-- name: closing_time
-- shards: the first millisecond after this database's clock, and after every id in it. A statement after lock_slots.
SELECT 1 + greatest(
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    (
        SELECT max(('x' || left(replace(newest.id::text, '-', ''), 12))::bit(48)::int8)
        FROM (
            (SELECT task.id FROM drumline.task ORDER BY task.id DESC LIMIT 1)
            UNION ALL
            (SELECT job.id FROM drumline.job ORDER BY job.id DESC LIMIT 1)
            UNION ALL
            (SELECT schedule.id FROM drumline.schedule ORDER BY schedule.id DESC LIMIT 1)
        ) AS newest (id)
    )
) AS at

-- name: close_slots
-- shards: close the entries that are open, each after its own beginning; one that is closed stays as it is.
INSERT INTO drumline.slot_entry AS mine (slot, version, since, closed_at, taker)
SELECT g.slot, 0, 0, :at::int8, :taker::text
FROM unnest(:slots::int4 [], :versions::int4 []) AS g (slot, version)
WHERE g.version = 0 AND NOT EXISTS (SELECT FROM drumline.shard_self AS me WHERE me.name <> 'main')
UNION ALL
SELECT s.slot, s.version, s.since, greatest(:at, s.since + 1), :taker
FROM unnest(:slots, :versions) AS g (slot, version)
INNER JOIN drumline.slot_entry AS s ON g.slot = s.slot AND g.version = s.version
WHERE g.version > 0
ON CONFLICT (slot, version) DO UPDATE SET closed_at = excluded.closed_at, taker = excluded.taker
WHERE mine.closed_at IS NULL

-- name: closed_slots
-- shards: when these entries were closed, and for whom.
SELECT s.slot, s.version, s.since, s.closed_at, s.taker
FROM unnest(:slots::int4 [], :versions::int4 []) AS g (slot, version)
INNER JOIN drumline.slot_entry AS s ON g.slot = s.slot AND g.version = s.version
WHERE s.closed_at IS NOT NULL

-- name: open_entries
-- shards: take new work of slots from a time on; an entry that exists stays as it is.
INSERT INTO drumline.slot_entry (slot, version, since)
SELECT g.slot, g.version, g.since
FROM unnest(:slots::int4 [], :versions::int4 [], :since::int8 []) AS g (slot, version, since)
ON CONFLICT DO NOTHING

-- name: list_shards
-- shards: the shards besides the directory.
SELECT shard.name, shard.store_url, shard.queue_url, shard.state, shard.added_at
FROM drumline.shard
ORDER BY shard.added_at, shard.name

-- name: add_shard
-- shards: add one; a name that is known stays as it is.
INSERT INTO drumline.shard (name, store_url, queue_url, added_at)
VALUES (
    :name::text, :store_url::bytea, :queue_url::bytea,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
)
ON CONFLICT DO NOTHING
RETURNING name

-- name: change_shard
-- shards: change its state, or its addresses.
UPDATE drumline.shard
SET
    state = coalesce(:state::text, shard.state),
    store_url = coalesce(:store_url::bytea, shard.store_url),
    queue_url = CASE WHEN :has_queue::bool THEN :queue_url::bytea ELSE shard.queue_url END
WHERE shard.name = :name::text
RETURNING shard.name

-- name: delete_shard
-- shards: forget one that owns nothing and never did, by the map.
DELETE FROM drumline.shard
WHERE shard.name = :name::text AND NOT EXISTS (SELECT FROM drumline.slot_owner AS o WHERE o.shard = :name)
RETURNING shard.name

-- name: map_number
-- shards: the number of the newest change of the list of shards or the map.
SELECT coalesce(max(shard_map.number), 0) AS number FROM drumline.shard_map

-- name: raise_map_number
-- shards: say that the list of shards or the map changes, in the transaction that changes it.
INSERT INTO drumline.shard_map AS map (number) VALUES (1)
ON CONFLICT (is_only) DO UPDATE SET number = map.number + 1

-- name: slot_owners
-- shards: the map, with the slots in one list that have moved together.
SELECT o.version, o.shard, o.since, array_agg(o.slot)
FROM drumline.slot_owner AS o
GROUP BY o.version, o.shard, o.since
ORDER BY o.version

-- name: add_owners
-- shards: write the next entry of slots into the map, with the first one if the slot has not moved before.
-- An entry that exists stays as it is; one whose predecessor is missing is left out.
WITH g AS (
    SELECT g.slot, g.version, g.shard, g.since
    FROM unnest(:slots::int4 [], :versions::int4 [], :shards::text [], :since::int8 []) AS g (slot, version, shard, since)
),

firsts AS (
    INSERT INTO drumline.slot_owner (slot, version, shard, since)
    SELECT g.slot, 0, 'main', 0
    FROM g
    WHERE g.version = 1
    ON CONFLICT DO NOTHING
)

INSERT INTO drumline.slot_owner (slot, version, shard, since)
SELECT g.slot, g.version, g.shard, g.since
FROM g
WHERE g.version = 1 OR EXISTS (
    SELECT FROM drumline.slot_owner AS o
    WHERE o.slot = g.slot AND o.version = g.version - 1
)
ON CONFLICT DO NOTHING

-- name: rename_owners
-- shards: let the map name other shards for what an emptied one held: those that have its forwarding rows.
UPDATE drumline.slot_owner AS old
SET shard = g.owner
FROM unnest(:slots::int4 [], :owners::text []) AS g (slot, owner)
WHERE
    old.shard = :name::text
    AND old.slot = g.slot
    AND (g.owner = 'main' OR EXISTS (SELECT FROM drumline.shard AS s WHERE s.name = g.owner))
RETURNING old.slot
