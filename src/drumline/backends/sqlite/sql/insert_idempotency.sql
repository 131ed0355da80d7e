-- submit: note whose an idempotency key is.
INSERT INTO idempotency (tenant, key, task_id, fingerprint, due_at) VALUES (?, ?, ?, ?, ?)
