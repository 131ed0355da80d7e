-- name: create_slo
-- slo: keep an objective, unless its tenant has another one of that name, or :most of them.
--   :behind  how far back it is counted
INSERT INTO drumline.slo (id, tenant, name, task, definition, created_at, due_at, counted_until)
SELECT
    :id::uuid, :tenant::text, :name::text, :task::text, :definition::text, t.now, t.now, t.now - :behind::int8
FROM (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS t
WHERE (SELECT count(*) FROM drumline.slo AS s WHERE s.tenant = :tenant) < :most::int4
ON CONFLICT DO NOTHING

-- name: slos
-- slos: newest first. What is NULL does not narrow.
--   :before  ids below this one
SELECT
    s.id, s.tenant, s.name, s.definition, s.created_at, s.counted_until, s.counted_at, s.burn_fast, s.burn_slow, s.turn
FROM drumline.slo AS s
WHERE
    s.id < :before::uuid
    AND (:tenant::text IS NULL OR s.tenant = :tenant)
    AND (:name::text IS NULL OR s.name = :name)
    AND (:task::text IS NULL OR s.task = :task)
ORDER BY s.id DESC
LIMIT :limit::int4

-- name: lock_slos
-- change, delete and record slos: lock them in the order of their ids, and read them.
SELECT
    s.id, s.tenant, s.name, s.definition, s.created_at, s.counted_until, s.counted_at, s.burn_fast, s.burn_slow, s.turn
FROM drumline.slo AS s
WHERE s.id = any(:ids::uuid []) AND (:tenant::text IS NULL OR s.tenant = :tenant)
ORDER BY s.id
FOR UPDATE

-- name: get_slo
-- slo: one objective.
SELECT
    s.id, s.tenant, s.name, s.definition, s.created_at, s.counted_until, s.counted_at, s.burn_fast, s.burn_slow, s.turn
FROM drumline.slo AS s
WHERE s.id = :id::uuid AND (:tenant::text IS NULL OR s.tenant = :tenant)

-- name: slo_named
-- change an slo: whether a tenant has another one of that name.
SELECT s.id FROM drumline.slo AS s WHERE s.tenant = :tenant::text AND s.name = :name::text AND s.id <> :id::uuid

-- name: rename_slo
-- change an slo that this transaction has locked: its name.
UPDATE drumline.slo AS s SET name = :name::text WHERE s.id = :id::uuid

-- name: redefine_slo
-- change an slo that this transaction has locked: what it is. It is counted anew.
UPDATE drumline.slo AS s
SET
    definition = :definition::text, turn = s.turn + 1, due_at = t.now, counted_until = t.now - :behind::int8,
    burn_fast = NULL, burn_slow = NULL
FROM (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS t
WHERE s.id = :id::uuid

-- name: delete_slo_hours
-- change and delete slos: forget their hours.
DELETE FROM drumline.slo_hour AS h WHERE h.slo = any(:ids::uuid [])

-- name: delete_slos
-- delete slos that this transaction has locked.
DELETE FROM drumline.slo AS s WHERE s.id = any(:ids::uuid [])

-- name: due_slos (postgres)
-- due slos: those whose time has come, each put off. Those that another scheduler takes just now are passed over.
UPDATE drumline.slo AS s
SET due_at = t.now + :every::int8
FROM (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS t
WHERE
    s.id = any(
        array(
            SELECT d.id FROM drumline.slo AS d
            WHERE
                d.due_at <= coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
            ORDER BY d.due_at
            LIMIT :limit::int4
            FOR UPDATE SKIP LOCKED
        )
    )
RETURNING
    s.id, s.tenant, s.name, s.definition, s.created_at, s.counted_until, s.counted_at, s.burn_fast, s.burn_slow, s.turn

-- name: due_slos (sqlite)
UPDATE slo
SET due_at = :now + :every
WHERE id IN (SELECT d.id FROM slo AS d WHERE d.due_at <= :now ORDER BY d.due_at LIMIT :limit)
RETURNING id, tenant, name, definition, created_at, counted_until, counted_at, burn_fast, burn_slow, turn

-- name: note_slo_counts
-- record slos: how far they are counted, and how fast they burn; of those that this transaction has locked.
UPDATE drumline.slo AS s
SET
    counted_until = greatest(s.counted_until, g.counted_until), counted_at = t.now, burn_fast = g.fast, burn_slow = g.slow
FROM
    (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS t,
    unnest(:ids::uuid [], :counted_until::int8 [], :fast::float8 [], :slow::float8 []) AS g (id, counted_until, fast, slow)
WHERE s.id = g.id

-- name: put_slo_hours
-- record slos: the tallies of hours, in place of what there was.
INSERT INTO drumline.slo_hour (slo, at, good, total)
SELECT g.slo, g.at, g.good, g.total
FROM unnest(:slos::uuid [], :times::int8 [], :good::int8 [], :total::int8 []) AS g (slo, at, good, total)
WHERE true
ORDER BY g.slo, g.at
ON CONFLICT (slo, at) DO UPDATE SET good = excluded.good, total = excluded.total

-- name: prune_slo_hours
-- record slos: forget hours that no period reaches.
DELETE FROM drumline.slo_hour AS h WHERE h.slo = any(:ids::uuid []) AND h.at < :before::int8

-- name: slo_tallies
-- slos: the tallies of some, each from a time on.
SELECT h.slo, sum(h.good)::int8 AS good, sum(h.total)::int8 AS total
FROM drumline.slo_hour AS h
INNER JOIN unnest(:ids::uuid [], :since::int8 []) AS g (id, since) ON h.slo = g.id
WHERE h.at >= g.since
GROUP BY h.slo

-- name: slo_hours
-- slo: the tallies of its hours.
SELECT h.at, h.good, h.total FROM drumline.slo_hour AS h
WHERE h.slo = :id::uuid AND h.at >= :since::int8
ORDER BY h.at
