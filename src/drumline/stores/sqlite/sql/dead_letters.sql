-- name: count_causes
-- fail: count dead letters to their causes, and note causes that are new.
--   :batch  JSON list of [lane, fingerprint, kind, message, how many]
INSERT INTO cause (lane, fingerprint, kind, message, count, first_at, last_at)
SELECT
    json_extract(value, '$[0]'),
    json_extract(value, '$[1]'),
    json_extract(value, '$[2]'),
    json_extract(value, '$[3]'),
    json_extract(value, '$[4]'),
    :now,
    :now
FROM json_each(:batch)
WHERE true
ON CONFLICT (lane, fingerprint) DO UPDATE
SET count = cause.count + excluded.count, last_at = max(cause.last_at, excluded.last_at)

-- name: insert_dead_letters
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

-- name: uncount_causes
-- retry, discard, prune: count the dead letters of these tasks no more.
--   :ids  JSON list
UPDATE cause SET count = cause.count - gone.count
FROM (
    SELECT cause, count(*) AS count FROM dead_letter
    WHERE task_id IN (SELECT value FROM json_each(:ids))
    GROUP BY cause
) AS gone
WHERE cause.id = gone.cause

-- name: keep_reasons
-- retry, discard, prune: why tasks died stays with the attempts that failed, as their dead letters go.
--   :ids  JSON list
UPDATE attempt SET reason = letter.reason
FROM json_each(:ids) AS given, dead_letter AS letter
WHERE letter.task_id = given.value AND attempt.task_id = letter.task_id AND attempt.epoch = letter.epoch

-- name: delete_dead_letters
-- retry, discard, prune: drop the dead letters of these tasks.
--   :ids  JSON list
DELETE FROM dead_letter WHERE task_id IN (SELECT value FROM json_each(:ids))
