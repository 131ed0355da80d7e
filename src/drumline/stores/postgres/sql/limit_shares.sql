-- name: limit_shares
-- claim, shares: what this database was given of limits, and the ceilings that hold at a time.
SELECT asked.limit_id, asked.limit_key, s.running, s.starts, s.running_ceiling, s.starts_ceiling
FROM unnest(:limits::int4 [], :keys::int4 []) AS asked (limit_id, limit_key)
CROSS JOIN LATERAL (
    SELECT
        share.running, share.starts,
        CASE WHEN share.ceiling_until > :now::int8 THEN share.running_ceiling END AS running_ceiling,
        CASE WHEN share.ceiling_until > :now THEN share.starts_ceiling END AS starts_ceiling
    FROM drumline.limit_share AS share
    WHERE share.limit_id = asked.limit_id AND share.limit_key = asked.limit_key
    OFFSET 0
) AS s

-- name: limit_version
-- shares: which state of the limits is known here, and whether they are those of the directory of this installation.
SELECT
    d.version,
    d.is_copy AND d.directory = coalesce((SELECT me.directory::text FROM drumline.shard_self AS me), '') AS is_copy
FROM drumline.limit_definitions AS d

-- name: hold_definitions
-- take: the same, until the end of the transaction.
SELECT d.last_id, d.is_closed FROM drumline.limit_definitions AS d FOR SHARE

-- name: limit_definitions
-- shares: all limits and their version, by one snapshot.
SELECT
    coalesce((SELECT me.directory::text FROM drumline.shard_self AS me), '') AS directory,
    coalesce(d.version, 0) AS version, coalesce(d.last_id, 0) AS last_id,
    f.id, f.tenant, f.name, f.queue, f.task, f.keyed_by, f.max_concurrent, f.rate, f.period_ms, f.created_at, f.split
FROM (SELECT 1) AS one (row)
LEFT JOIN drumline.limit_definitions AS d ON true
LEFT JOIN drumline.flow_limit AS f ON true
ORDER BY f.id

-- name: raise_limit_version
-- set, delete a limit: there is another state of them. The table of limits is locked.
INSERT INTO drumline.limit_definitions AS d (version, last_id)
VALUES (1, :id::int4)
ON CONFLICT (is_only) DO UPDATE SET version = d.version + 1, last_id = greatest(d.last_id, excluded.last_id)

-- name: install_limit_version
-- install: note the state of the directory's limits that is known here.
INSERT INTO drumline.limit_definitions (version, last_id, directory, is_copy)
VALUES (:version::int8, :last_id::int4, :directory::text, true)
ON CONFLICT (is_only) DO UPDATE SET
version = excluded.version, last_id = excluded.last_id, directory = excluded.directory, is_copy = true

-- name: install_limits
-- install: keep the directory's limits, under its numbers.
INSERT INTO drumline.flow_limit AS mine (
    id, tenant, name, queue, task, keyed_by, max_concurrent, rate, period_ms, created_at, split
)
OVERRIDING SYSTEM VALUE
SELECT
    g.id, g.tenant, g.name, g.queue, g.task, g.keyed_by, g.max_concurrent, g.rate, g.period_ms, g.created_at, 2
FROM unnest(
    :ids::int4 [], :tenants::text [], :names::text [], :queues::text [], :tasks::text [], :keyed_by::text [],
    :max_concurrent::int4 [], :rates::int4 [], :periods_ms::int8 [], :created_at::int8 []
) AS g (id, tenant, name, queue, task, keyed_by, max_concurrent, rate, period_ms, created_at)
ON CONFLICT (id) DO UPDATE SET
max_concurrent = excluded.max_concurrent,
rate = excluded.rate,
period_ms = excluded.period_ms

-- name: delete_shares
-- delete a limit: forget what was given of it, and what is under way from here.
WITH under_way AS (
    DELETE FROM drumline.limit_transfer AS t WHERE t.limit_id = :id::int4
)

DELETE FROM drumline.limit_share AS s WHERE s.limit_id = :id

-- name: mark_split
-- give: from now on claims look at the share.
UPDATE drumline.flow_limit AS f SET split = 1 WHERE f.id = any(:limits::int4 []) AND f.split = 0

-- name: change_shares
-- give, take: change shares by amounts. Whoever gave lets its ceiling go.
INSERT INTO drumline.limit_share AS s (limit_id, limit_key, running, starts, changed_at)
SELECT g.limit_id, g.limit_key, g.running, g.starts, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
FROM unnest(:limits::int4 [], :keys::int4 [], :running::int4 [], :starts::int4 [])
    AS g (limit_id, limit_key, running, starts)
ON CONFLICT (limit_id, limit_key) DO UPDATE SET
running = s.running + excluded.running,
starts = s.starts + excluded.starts,
changed_at = excluded.changed_at,
running_ceiling = NULL,
starts_ceiling = NULL,
ceiling_until = NULL

-- name: number_transfers
-- give: the last of so many numbers for transfers to a database; no row if it has gone. Its row is locked, so that numbers are
-- committed in their order.
INSERT INTO drumline.limit_peer AS p (name, sent) VALUES (:taker::text, :count::int4)
ON CONFLICT (name) DO UPDATE SET sent = p.sent + :count
WHERE NOT p.is_gone
RETURNING sent

-- name: insert_transfers
-- give: write what is under way.
INSERT INTO drumline.limit_transfer (taker, number, limit_id, limit_key, running, starts)
SELECT g.taker, g.number, g.limit_id, g.limit_key, g.running, g.starts
FROM unnest(
    :takers::text [], :numbers::int8 [], :limits::int4 [], :keys::int4 [], :running::int4 [], :starts::int4 []
) AS g (taker, number, limit_id, limit_key, running, starts)

-- name: transfers
-- shares: the oldest transfers to each taker, in order.
SELECT t.taker, t.number, t.limit_id, k.key, t.running, t.starts
FROM drumline.limit_peer AS p
CROSS JOIN LATERAL (
    SELECT tr.taker, tr.number, tr.limit_id, tr.limit_key, tr.running, tr.starts
    FROM drumline.limit_transfer AS tr
    WHERE tr.taker = p.name
    ORDER BY tr.number
    LIMIT :most::int4
) AS t
LEFT JOIN drumline.limit_key AS k ON t.limit_key = k.id
ORDER BY t.taker, t.number

-- name: transfers_to
-- disown: what is under way to a database.
SELECT t.number, t.limit_id, t.limit_key, t.running, t.starts
FROM drumline.limit_transfer AS t
WHERE t.taker = :taker::text
ORDER BY t.number

-- name: lock_giver
-- take: the last number of a giver's that was applied. Whoever else takes from it waits.
INSERT INTO drumline.limit_peer AS p (name) VALUES (:giver::text)
ON CONFLICT (name) DO UPDATE SET received = p.received
RETURNING received

-- name: note_received
-- take: the last number that is applied now.
UPDATE drumline.limit_peer AS p SET received = :number::int8 WHERE p.name = :giver::text

-- name: finish_transfers
-- shares: forget transfers that were applied, by their numbers.
DELETE FROM drumline.limit_transfer AS t WHERE t.taker = :taker::text AND t.number = any(:numbers::int8 [])

-- name: close_shares
-- shares: take no more transfers, when those that are being taken are.
UPDATE drumline.limit_definitions AS d SET is_closed = true

-- name: limits_received
-- shares: the last number that was applied of each giver's.
SELECT p.name, p.received FROM drumline.limit_peer AS p WHERE p.received > 0

-- name: delete_peers
-- wipe: forget which limits were known, and all databases.
WITH definitions AS (
    DELETE FROM drumline.limit_definitions AS d
)

DELETE FROM drumline.limit_peer AS p

-- name: disown_peer
-- shares: give no more to a database.
INSERT INTO drumline.limit_peer AS p (name, is_gone) VALUES (:taker::text, true)
ON CONFLICT (name) DO UPDATE SET is_gone = true

-- name: admit_peer
-- shares: give to a database that has joined, and say which number came last from one of its name.
UPDATE drumline.limit_peer AS p SET is_gone = false WHERE p.name = :peer::text RETURNING p.received

-- name: number_after
-- shares: number transfers to databases above these numbers.
INSERT INTO drumline.limit_peer AS p (name, sent)
SELECT g.taker, g.number FROM unnest(:takers::text [], :numbers::int8 []) AS g (taker, number)
ON CONFLICT (name) DO UPDATE SET sent = greatest(p.sent, excluded.sent)

-- name: set_ceilings
-- ask: let ceilings hold until a time.
INSERT INTO drumline.limit_share AS s (limit_id, limit_key, running_ceiling, starts_ceiling, ceiling_until, changed_at)
SELECT g.limit_id, g.limit_key, g.running, g.starts, :until::int8, :now::int8
FROM unnest(:limits::int4 [], :keys::int4 [], :running::int4 [], :starts::int4 [])
    AS g (limit_id, limit_key, running, starts)
ON CONFLICT (limit_id, limit_key) DO UPDATE SET
running_ceiling = excluded.running_ceiling,
starts_ceiling = excluded.starts_ceiling,
ceiling_until = excluded.ceiling_until

-- name: lanes_with_waiting
-- shares: lanes under limits in which tasks are due, and whose queue is not paused.
SELECT lane.id, lane.is_keyed, lane.tenant, lane.queue, lane.name, lane.priority
FROM drumline.lane
WHERE
    NOT EXISTS (
        SELECT FROM drumline.queue_pause AS p
        WHERE p.tenant = lane.tenant AND p.queue = lane.queue
    )
    AND EXISTS (
        SELECT FROM drumline.flow_limit AS f
        WHERE
            f.tenant = lane.tenant
            AND coalesce(f.queue, lane.queue) = lane.queue
            AND coalesce(f.task, lane.name) = lane.name
    )
    AND (
        SELECT live.due_at FROM drumline.task_live AS live
        WHERE live.lane = lane.id AND live.due_at <= :now::int8 AND live.state = 1
        ORDER BY live.due_at, live.id
        LIMIT 1
    ) IS NOT NULL

-- name: count_due
-- shares: how many tasks of lanes are due, counted no further than :most.
SELECT asked.lane, (
    SELECT count(*) FROM (
        SELECT FROM drumline.task_live AS live
        WHERE live.lane = asked.lane AND live.due_at <= :now::int8 AND live.state = 1
        ORDER BY live.due_at, live.id
        LIMIT :most::int4
    ) AS head
) AS waiting
FROM unnest(:lanes::int4 []) AS asked (lane)

-- name: count_due_of_keys
-- shares: how many tasks of lanes and keys are due, counted no further than :most.
SELECT asked.lane, asked.key, (
    SELECT count(*) FROM (
        SELECT FROM drumline.task_live AS live
        WHERE
            live.lane = asked.lane AND live.limit_key = asked.key AND live.limit_key > 0
            AND live.due_at <= :now::int8 AND live.state = 1
        ORDER BY live.due_at, live.id
        LIMIT :most::int4
    ) AS head
) AS waiting
FROM unnest(:lanes::int4 [], :keys::int4 []) AS asked (lane, key)

-- name: keys_in_lane
-- shares: keys of tasks that wait in a lane, after :after, some of them.
WITH RECURSIVE known AS (
    (
        SELECT live.limit_key AS key FROM drumline.task_live AS live
        WHERE
            live.lane = :lane::int4 AND live.limit_key > :after::int4 AND live.limit_key > 0
            AND live.due_at IS NOT NULL
        ORDER BY live.limit_key
        LIMIT 1
    )
    UNION ALL
    SELECT following.key
    FROM known
    CROSS JOIN LATERAL (
        SELECT live.limit_key AS key FROM drumline.task_live AS live
        WHERE
            live.lane = :lane AND live.limit_key > known.key AND live.limit_key > 0 AND live.due_at IS NOT NULL
        ORDER BY live.limit_key
        LIMIT 1
    ) AS following
)

SELECT known.key FROM known LIMIT :most::int4

-- name: limit_key_texts
-- shares: keys by their numbers.
SELECT k.id, k.key FROM drumline.limit_key AS k WHERE k.id = any(:ids::int4 [])

-- name: overdrawn
-- shares: limits of which the directory has given more than there is now: they were lowered.
SELECT f.id, s.limit_key
FROM drumline.flow_limit AS f
INNER JOIN drumline.limit_share AS s ON f.id = s.limit_id
WHERE
    f.split = 1
    AND (f.keyed_by IS NULL OR :thorough::bool)
    AND (f.max_concurrent + s.running < 0 OR f.rate + s.starts < 0)
LIMIT :most::int4

-- name: given_shares
-- shares: what was given here: all, or what nothing has used for a while.
SELECT s.limit_id, s.limit_key
FROM drumline.limit_share AS s
INNER JOIN drumline.flow_limit AS f ON s.limit_id = f.id
WHERE
    f.split = 2 AND (s.running <> 0 OR s.starts <> 0)
    AND (
        NOT :idle::bool
        OR (
            s.changed_at <= :before::int8
            AND NOT EXISTS (
                SELECT FROM drumline.slot WHERE slot.limit_id = s.limit_id AND slot.limit_key = s.limit_key
            )
        )
    )
LIMIT :most::int4

-- name: drop_empty_shares
-- shares: forget those of nothing.
DELETE FROM drumline.limit_share AS s
WHERE s.running = 0 AND s.starts = 0 AND s.changed_at <= :before::int8 AND coalesce(s.ceiling_until, 0) <= :before
