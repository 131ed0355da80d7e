-- name: create_outbox (postgres)
-- outbox install: tasks that wait to be relayed, in a database of a program. `error` is why one was set aside, `tried_at`
-- when a relay was first about to store it.
CREATE TABLE IF NOT EXISTS drumline_outbox (
    seq int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    tenant text NOT NULL,
    request text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    error text,
    tried_at int8
)

-- name: create_outbox (sqlite)
-- outbox install: tasks that wait to be relayed, in a database of a program. `error` is why one was set aside, `tried_at`
-- when a relay was first about to store it.
CREATE TABLE IF NOT EXISTS drumline_outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    request TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ')),
    error TEXT,
    tried_at INTEGER
)

-- name: outbox_marks (postgres)
-- outbox install, relay: whether the table has `tried_at`; those that an older version has made do not.
SELECT count(*) FROM pg_attribute AS a
WHERE a.attrelid = to_regclass('drumline_outbox') AND a.attname = 'tried_at' AND NOT a.attisdropped

-- name: outbox_marks (sqlite)
-- outbox install, relay: whether the table has `tried_at`; those that an older version has made do not.
SELECT count(*) FROM pragma_table_info('drumline_outbox') AS c WHERE c.name = 'tried_at'

-- name: add_outbox_marks (postgres)
-- outbox install: bring a table of an older version up to date.
ALTER TABLE drumline_outbox ADD COLUMN IF NOT EXISTS tried_at int8

-- name: add_outbox_marks (sqlite)
-- outbox install: bring a table of an older version up to date.
ALTER TABLE drumline_outbox ADD COLUMN tried_at INTEGER

-- name: put_in_outbox
-- submit: keep tasks until they are relayed.
INSERT INTO drumline_outbox (id, tenant, request)
SELECT g.id, g.tenant, g.request
FROM unnest(:ids::uuid [], :tenants::text [], :requests::text []) AS g (id, tenant, request)

-- name: outbox_batch
-- relay: the tasks that wait, in the order in which they were written.
-- GIVES for each how many milliseconds ago it was first tried; NULL if it never was
SELECT
    o.seq, o.id, o.tenant, o.request,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) - o.tried_at AS tried
FROM drumline_outbox AS o
WHERE o.error IS NULL AND o.seq > :after::int8
ORDER BY o.seq
LIMIT :limit::int8

-- name: outbox_batch_without_marks
-- relay: the same for a table of an older version.
SELECT o.seq, o.id, o.tenant, o.request, NULL::int8 AS tried
FROM drumline_outbox AS o
WHERE o.error IS NULL AND o.seq > :after::int8
ORDER BY o.seq
LIMIT :limit::int8

-- name: mark_tried
-- relay: note that tasks are about to be stored. Two relays mark in the same order, so that neither waits for the other.
-- GIVES those that were not marked before
UPDATE drumline_outbox
SET tried_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
WHERE
    tried_at IS NULL
    AND seq IN (
        SELECT o.seq FROM drumline_outbox AS o
        WHERE o.seq = any(:seqs::int8 []) AND o.tried_at IS NULL
        ORDER BY o.seq
        FOR UPDATE
    )
RETURNING seq

-- name: unmark
-- relay: take the mark from tasks that were not stored, or that whoever lets them wait again wants to be stored.
UPDATE drumline_outbox SET tried_at = NULL WHERE id = any(:ids::uuid [])

-- name: delete_from_outbox
-- relay: forget tasks that are stored.
DELETE FROM drumline_outbox WHERE id = any(:ids::uuid [])

-- name: set_aside
-- relay: keep a task that cannot be stored, with the reason; the others go on.
UPDATE drumline_outbox SET error = :error::text WHERE id = any(:ids::uuid [])

-- name: waiting_in_outbox
-- outbox show: how many tasks wait.
SELECT count(*) FROM drumline_outbox AS o WHERE o.error IS NULL

-- name: set_aside_in_outbox
-- outbox show: tasks that were set aside, oldest first.
SELECT o.id, o.tenant, o.request, o.error
FROM drumline_outbox AS o
WHERE o.error IS NOT NULL
ORDER BY o.seq
LIMIT :limit::int8

-- name: retry_outbox
-- outbox retry: let tasks that were set aside wait again.
UPDATE drumline_outbox SET error = NULL WHERE error IS NOT NULL RETURNING id
