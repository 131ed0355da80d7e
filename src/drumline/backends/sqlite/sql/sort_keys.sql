-- sort keys: put tasks into the twin of their lane, under their keys.
--   :tasks  JSON list of [task, key]
UPDATE task_live
SET lane = :twin, limit_key = json_extract(asked.value, '$[1]')
FROM json_each(:tasks) AS asked
WHERE task_live.id = json_extract(asked.value, '$[0]')
