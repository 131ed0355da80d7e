-- name: progress
-- progress: how far the attempts are that run now.
--   :ids  JSON list
SELECT progress.task_id, progress.done, progress.total, progress.message
FROM json_each(:ids) AS given
INNER JOIN progress ON given.value = progress.task_id
INNER JOIN task_live AS live ON progress.task_id = live.id
WHERE
    live.state = 2
    AND live.epoch = progress.epoch
    AND (
        :tenant IS NULL
        OR EXISTS (
            SELECT 1 FROM task INNER JOIN lane ON task.lane = lane.id
            WHERE task.id = progress.task_id AND lane.tenant = :tenant
        )
    )

-- name: append_log
-- log: keep pieces of logs; a piece that is there already is kept once.
--   :batch  JSON list of [task id, epoch, seq, text]
INSERT INTO task_log (task_id, epoch, seq, text)
SELECT
    json_extract(value, '$[0]'),
    json_extract(value, '$[1]'),
    json_extract(value, '$[2]'),
    json_extract(value, '$[3]')
FROM json_each(:batch)
WHERE true
ON CONFLICT DO NOTHING

-- name: put_artifact
-- artifact: keep a file; a later one of the same name replaces it.
INSERT INTO artifact (task_id, name, content_type, created_at, data) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET content_type = excluded.content_type, created_at = excluded.created_at, data = excluded.data

-- name: put_progress
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
