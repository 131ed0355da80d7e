-- submit: the task that an idempotency key belongs to; no row if the key is new.
SELECT task_id, fingerprint, due_at FROM idempotency WHERE tenant = :tenant AND key = :key
