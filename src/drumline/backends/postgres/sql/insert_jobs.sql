-- submit: store jobs, of which nothing has ended; one whose id or idempotency key is known is left as it is.
-- Waits for a concurrent submission of the same key to commit or fail. They come sorted by key, so that no two
-- submissions can wait for each other.
-- GIVES those that were new
INSERT INTO drumline.job (
    id, tenant, name, owner, options, total, pending_jobs, created_at, idempotency_key, fingerprint, schedule_id, fire_time
)
SELECT
    g.id, g.tenant, g.name, g.owner, g.options, g.total, g.pending_jobs,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    g.idempotency_key, g.fingerprint, g.schedule_id, g.fire_time
FROM
    unnest(
        :ids::uuid [], :tenants::text [], :names::text [], :owners::text [], :options::text [], :totals::int4 [],
        :pending_jobs::int4 [], :keys::text [], :fingerprints::bytea [], :schedules::text [], :fire_times::int8 []
    ) AS g (
        id, tenant, name, owner, options, total, pending_jobs, idempotency_key, fingerprint, schedule_id, fire_time
    )
ON CONFLICT DO NOTHING
RETURNING id
