-- name: insert_live
-- submit, retry: let tasks wait to be claimed. The state after it is queued.
--   :batch  JSON list of [id, lane, due_at, epoch, attempt]
INSERT INTO task_live (id, lane, due_at, epoch, attempt, state)
SELECT
    json_extract(value, '$[0]'),
    json_extract(value, '$[1]'),
    json_extract(value, '$[2]'),
    json_extract(value, '$[3]'),
    json_extract(value, '$[4]'),
    1
FROM json_each(:batch)

-- name: insert_alike_tasks
-- submit: store tasks that differ in nothing but id and payload, and have no idempotency key.
--   :batch  JSON list of [id, payload]
--   :now    the time of the transaction
INSERT INTO task (id, lane, payload, options, due_at, created_at)
SELECT json_extract(value, '$[0]'), :lane, json_extract(value, '$[1]'), :options, :due_at, :now
FROM json_each(:batch)

-- name: insert_alike_live
-- submit: let such tasks wait to be claimed. The state after it is queued.
--   :ids  JSON list
INSERT INTO task_live (id, lane, due_at, state)
SELECT value, :lane, :due_at, 1 FROM json_each(:ids)

-- name: idempotency
-- submit: the task that an idempotency key belongs to; no row if the key is new.
SELECT task_id, fingerprint, due_at FROM idempotency WHERE tenant = :tenant AND key = :key

-- name: insert_tasks
-- submit: store what was asked for.
--   :batch  JSON list of [id, lane, payload, options, idempotency key, due_at]
--   :now    the time of the transaction
INSERT INTO task (id, lane, payload, options, idempotency_key, due_at, created_at)
SELECT
    json_extract(value, '$[0]'),
    json_extract(value, '$[1]'),
    json_extract(value, '$[2]'),
    json_extract(value, '$[3]'),
    json_extract(value, '$[4]'),
    json_extract(value, '$[5]'),
    :now
FROM json_each(:batch)

-- name: insert_idempotency
-- submit: note whose an idempotency key is.
INSERT INTO idempotency (tenant, key, task_id, fingerprint, due_at) VALUES (?, ?, ?, ?, ?)
