-- list: jobs newest first. What is NULL does not narrow.
--   :before    ids below this one
--   :statuses  JSON list
SELECT
    id, tenant, name, owner, status, options, total, completed, failed, cancelled, skipped, pending_jobs, reason,
    cancel_requested, created_at, started_at, finished_at, idempotency_key, schedule_id, fire_time, version
FROM job
WHERE
    (:before IS NULL OR id < :before)
    AND (:tenant IS NULL OR tenant = :tenant)
    AND (:name IS NULL OR name = :name)
    AND (:owner IS NULL OR owner = :owner)
    AND (:schedule_id IS NULL OR schedule_id = :schedule_id)
    AND (:key IS NULL OR idempotency_key = :key)
    AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(options, '$.tags') WHERE value = :tag))
    AND (:statuses IS NULL OR status IN (SELECT value FROM json_each(:statuses)))
ORDER BY id DESC
LIMIT :limit
