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

-- name: renew_live (postgres)
-- submit: change when waiting tasks are due, as new rows in place of the old ones. Their live rows are locked.
-- A claim that began before this transaction commits reads payloads as they were then. It would wait for a changed row,
-- or meet it after the commit, and take it with the old payload; a row that was deleted it passes over, and a new one it
-- does not see.
--   transition  queued -> queued
--   fence       epoch rises
--   :ids …      arrays of equal length, sorted by id, each once
WITH gone AS (
    DELETE FROM drumline.task_live AS live
    WHERE live.id = any(:ids::uuid []) AND live.state = 1
    RETURNING
        live.id, live.lane, live.epoch, live.attempt, live.failures, live.crashes, live.cancel_requested, live.in_job,
        live.limit_key
)

INSERT INTO drumline.task_live (
    id, lane, epoch, attempt, failures, crashes, cancel_requested, in_job, limit_key, due_at
)
SELECT
    gone.id, gone.lane, gone.epoch + 1, gone.attempt, gone.failures, gone.crashes, gone.cancel_requested, gone.in_job,
    gone.limit_key, (:due_at::int8 [])[width_bucket(gone.id, :ids)]
FROM gone

-- name: renew_live (sqlite)
-- submit: change when waiting tasks are due.
--   transition  queued -> queued
--   fence       epoch rises
UPDATE task_live
SET due_at = g.due_at, epoch = epoch + 1
FROM unnest(:ids::uuid [], :due_at::int8 []) AS g (id, due_at)
WHERE task_live.id = g.id AND task_live.state = 1
