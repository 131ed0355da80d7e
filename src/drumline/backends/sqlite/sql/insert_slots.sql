-- claim, set a limit: note what was started under limits.
--   :slots  JSON list of [limit, key, task, epoch, started_at]
INSERT INTO slot (limit_id, limit_key, task_id, epoch, started_at)
SELECT
    json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'), json_extract(value, '$[3]'), json_extract(value, '$[4]')
FROM json_each(:slots)
WHERE true
ON CONFLICT DO NOTHING
