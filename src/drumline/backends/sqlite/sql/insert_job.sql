-- submit: store a job. Nothing of it has ended.
INSERT INTO job (
    id, tenant, name, owner, options, total, pending_jobs, created_at, idempotency_key, fingerprint, schedule_id, fire_time
)
VALUES (
    :id, :tenant, :name, :owner, :options, :total, :pending_jobs, :now, :idempotency_key, :fingerprint, :schedule_id,
    :fire_time
)
