-- list: the tasks below :before that an idempotency key belongs to, of every tenant.
SELECT i.task_id FROM drumline.idempotency AS i
WHERE i.key = :key::text AND i.task_id < :before::uuid
ORDER BY i.task_id DESC
LIMIT :limit::int4
