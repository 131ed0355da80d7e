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
