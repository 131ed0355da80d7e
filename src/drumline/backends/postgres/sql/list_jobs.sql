-- list: jobs below :before, newest first. What is NULL does not narrow.
SELECT
    job.id, job.tenant, job.name, job.owner, job.status, job.options, job.total, job.completed, job.failed,
    job.cancelled, job.skipped, job.pending_jobs, job.reason, job.cancel_requested, job.created_at, job.started_at,
    job.finished_at, job.idempotency_key, job.schedule_id, job.fire_time, job.version
FROM drumline.job
WHERE
    job.id < :before::uuid
    AND (:tenant::text IS NULL OR job.tenant = :tenant)
    AND (:name::text IS NULL OR job.name = :name)
    AND (:owner::text IS NULL OR job.owner = :owner)
    AND (:schedule_id::text IS NULL OR job.schedule_id = :schedule_id)
    AND (:key::text IS NULL OR job.idempotency_key = :key)
    AND (:tag::text IS NULL OR job.options::jsonb -> 'tags' @> to_jsonb(:tag))
    AND (:statuses::int2 [] IS NULL OR job.status = any(:statuses))
ORDER BY job.id DESC
LIMIT :limit::int4
