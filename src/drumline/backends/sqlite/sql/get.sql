-- get: tasks as they stand.
--   :ids     JSON list
--   :tenant  NULL means every tenant
SELECT
    id, tenant, queue, name, priority, state, created_at, due_at, epoch, attempt, failures, crashes,
    cancel_requested, started_at, finished_at, session, options, idempotency_key, result, error, payload
FROM task_view
WHERE id IN (SELECT value FROM json_each(:ids)) AND (:tenant IS NULL OR tenant = :tenant)
