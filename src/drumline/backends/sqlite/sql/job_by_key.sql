-- submit: the job that an idempotency key belongs to, or that is stored under this very id.
SELECT id, fingerprint FROM job
WHERE id = :id OR (tenant = :tenant AND idempotency_key = :idempotency_key)
ORDER BY id = :id DESC
LIMIT 1
