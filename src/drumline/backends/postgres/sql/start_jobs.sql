-- start: note that tasks of jobs have been claimed.
-- GIVES the jobs for which that is news
WITH locked AS MATERIALIZED (
    SELECT j.id FROM drumline.job AS j
    WHERE j.id = any(:ids::uuid []) AND j.started_at IS NULL AND j.finished_at IS NULL
    ORDER BY j.id
    FOR NO KEY UPDATE
)

UPDATE drumline.job
SET
    status = 2,
    started_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    version = job.version + 1
WHERE job.id = any(ARRAY(SELECT locked.id FROM locked))
RETURNING
    job.id, job.tenant, job.name, job.owner, job.status, job.options, job.total, job.completed, job.failed,
    job.cancelled, job.skipped, job.pending_jobs, job.reason, job.cancel_requested, job.created_at, job.started_at,
    job.finished_at, job.idempotency_key, job.schedule_id, job.fire_time, job.version
