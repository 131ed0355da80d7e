-- submit: how tasks hang together with the others of their job.
--   :batch  JSON list of [task id, job id, key, run_if, pending, delay_ms, run_at]
INSERT INTO job_task (task_id, job_id, key, run_if, pending, delay_ms, run_at)
SELECT
    json_extract(value, '$[0]'),
    json_extract(value, '$[1]'),
    json_extract(value, '$[2]'),
    json_extract(value, '$[3]'),
    json_extract(value, '$[4]'),
    json_extract(value, '$[5]'),
    json_extract(value, '$[6]')
FROM json_each(:batch)
