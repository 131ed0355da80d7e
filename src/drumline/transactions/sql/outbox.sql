-- name: create_outbox (postgres)
-- outbox install: tasks that wait to be relayed, in a database of a program. `error` is why one was set aside.
CREATE TABLE IF NOT EXISTS drumline_outbox (
    seq int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    tenant text NOT NULL,
    request text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    error text
)

-- name: create_outbox (sqlite)
-- outbox install: tasks that wait to be relayed, in a database of a program. `error` is why one was set aside.
CREATE TABLE IF NOT EXISTS drumline_outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    request TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ')),
    error TEXT
)

-- name: put_in_outbox
-- submit: keep tasks until they are relayed.
INSERT INTO drumline_outbox (id, tenant, request)
SELECT g.id, g.tenant, g.request
FROM unnest(:ids::uuid [], :tenants::text [], :requests::text []) AS g (id, tenant, request)

-- name: outbox_batch
-- relay: the tasks that wait, in the order in which they were written.
SELECT o.seq, o.id, o.tenant, o.request
FROM drumline_outbox AS o
WHERE o.error IS NULL AND o.seq > :after::int8
ORDER BY o.seq
LIMIT :limit::int8

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
