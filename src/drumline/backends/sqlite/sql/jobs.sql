-- every act on jobs: jobs as they stand.
--   :ids  JSON list
SELECT
    id, tenant, name, owner, status, options, total, completed, failed, cancelled, skipped, pending_jobs, reason,
    cancel_requested, created_at, started_at, finished_at, idempotency_key, schedule_id, fire_time, version
FROM job
WHERE id IN (SELECT value FROM json_each(:ids))
