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
