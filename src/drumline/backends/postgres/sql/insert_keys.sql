-- submit: note whose idempotency keys are; a key that is known stays its first task's.
-- Waits for a concurrent submission of the same key to commit or fail. Keys come sorted, so that no two
-- submissions can wait for each other.
-- GIVES the keys that were new
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
)

INSERT INTO drumline.idempotency (tenant, key, task_id, fingerprint, due_at)
SELECT g.tenant, g.key, g.id, g.fingerprint, coalesce(g.run_at, clock.now + g.delay)
FROM
    unnest(
        :tenants::text [], :keys::text [], :ids::uuid [], :fingerprints::bytea [], :run_at::int8 [], :delays::int8 []
    ) AS g (tenant, key, id, fingerprint, run_at, delay),
    clock
ON CONFLICT DO NOTHING
RETURNING tenant, key
