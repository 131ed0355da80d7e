-- name: lock_collapse_keys
-- submit: lock the rows of collapse keys, made if they are missing. Sorted, so that no two submissions wait for each other.
-- A concurrent submission of the same key is waited for; what it did is in the rows that come back.
-- GIVES the keys with the last task of each; first_at is 0 for those that are new
INSERT INTO drumline.collapse_key (tenant, key, task_id, first_at, until)
SELECT g.tenant, g.key, g.id, 0, 0
FROM unnest(:tenants::text [], :keys::text [], :ids::uuid []) AS g (tenant, key, id)
WHERE true
ON CONFLICT (tenant, key) DO UPDATE SET until = collapse_key.until
RETURNING tenant, key, task_id, first_at, until

-- name: set_collapse_keys
-- submit: note the task that stands for a key from now on. The rows are locked.
UPDATE drumline.collapse_key
SET task_id = g.id, first_at = g.first_at, until = g.until
FROM
    unnest(:tenants::text [], :keys::text [], :ids::uuid [], :first_at::int8 [], :until::int8 [])
        AS g (tenant, key, id, first_at, until)
WHERE collapse_key.tenant = g.tenant AND collapse_key.key = g.key

-- name: stored_tasks
-- submit: which of these tasks are stored already, because an earlier answer was lost.
SELECT task.id, task.due_at FROM drumline.task WHERE task.id = any(:ids::uuid [])

-- name: prune_collapse_keys
-- prune: forget keys whose time is over and whose task has ended; one that is being used is passed over.
DELETE FROM drumline.collapse_key
WHERE (tenant, key) IN (
    SELECT c.tenant, c.key
    FROM drumline.collapse_key AS c
    WHERE
        c.until < :before::int8
        AND NOT EXISTS (SELECT 1 FROM drumline.task_live AS live WHERE live.id = c.task_id)
    ORDER BY c.until
    LIMIT :limit
    FOR UPDATE SKIP LOCKED
)
RETURNING tenant
