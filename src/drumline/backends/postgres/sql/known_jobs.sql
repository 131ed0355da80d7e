-- submit: jobs that are stored under these ids or idempotency keys. A statement after insert_jobs, so that it sees what
-- that waited for.
--   :ids …  arrays of equal length
SELECT g.id AS asked, j.id, j.status, j.fingerprint
FROM unnest(:ids::uuid [], :tenants::text [], :keys::text []) AS g (id, tenant, key)
CROSS JOIN LATERAL (
    (
        SELECT job.id, job.status, job.fingerprint FROM drumline.job
        WHERE job.id = g.id
    )
    UNION ALL
    (
        SELECT job.id, job.status, job.fingerprint FROM drumline.job
        WHERE job.idempotency_key = g.key AND job.tenant = g.tenant AND job.id <> g.id
    )
) AS j
