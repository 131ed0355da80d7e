-- settle, reap: let tasks wait to be claimed again.
--   transition  running -> queued
--   fence       epoch rises
--   :batch      JSON list of [id, due_at, attempt, failures, crashes], each checked in this transaction
UPDATE task_live
SET
    state = 1,
    epoch = epoch + 1,
    due_at = json_extract(given.value, '$[1]'),
    attempt = json_extract(given.value, '$[2]'),
    failures = json_extract(given.value, '$[3]'),
    crashes = json_extract(given.value, '$[4]'),
    nonce = NULL,
    session = NULL,
    started_at = NULL
FROM json_each(:batch) AS given
WHERE task_live.id = json_extract(given.value, '$[0]')
