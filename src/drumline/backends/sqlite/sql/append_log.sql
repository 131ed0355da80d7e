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
