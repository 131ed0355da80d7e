-- fail: write the dead letters of tasks whose causes have been counted.
--   :batch  JSON list of [task id, epoch, attempts, reason, lane, fingerprint, message]
INSERT INTO dead_letter (task_id, at, cause, epoch, attempts, reason, message, job_id, tags)
SELECT
    json_extract(given.value, '$[0]'),
    :now,
    cause.id,
    json_extract(given.value, '$[1]'),
    json_extract(given.value, '$[2]'),
    json_extract(given.value, '$[3]'),
    json_extract(given.value, '$[6]'),
    (SELECT job_task.job_id FROM job_task WHERE job_task.task_id = json_extract(given.value, '$[0]')),
    (SELECT json_extract(task.options, '$.tags') FROM task WHERE task.id = json_extract(given.value, '$[0]'))
FROM json_each(:batch) AS given
CROSS JOIN cause
WHERE cause.lane = json_extract(given.value, '$[4]') AND cause.fingerprint = json_extract(given.value, '$[5]')
