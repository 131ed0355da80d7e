-- progress: note how far attempts are.
--   fence   epoch and nonce both match
--   :batch  JSON list of [id, epoch, nonce, done, total, message]
INSERT INTO progress (task_id, epoch, at, done, total, message)
SELECT
    live.id,
    live.epoch,
    :now,
    json_extract(given.value, '$[3]'),
    json_extract(given.value, '$[4]'),
    json_extract(given.value, '$[5]')
FROM json_each(:batch) AS given
CROSS JOIN task_live AS live
WHERE
    live.id = json_extract(given.value, '$[0]')
    AND live.state = 2
    AND live.epoch = json_extract(given.value, '$[1]')
    AND live.nonce = json_extract(given.value, '$[2]')
ON CONFLICT (task_id) DO UPDATE
SET epoch = excluded.epoch, at = excluded.at, done = excluded.done, total = excluded.total, message = excluded.message
