-- name: insert_attempts
-- settle, reap, cancel: write what happened.
--   :batch  JSON list of
--           [task id, epoch, attempt, outcome, nonce, session, started_at, finished_at, result, error]
INSERT INTO attempt (
    task_id, epoch, attempt, outcome, nonce, session, started_at, finished_at, result, error
)
SELECT
    json_extract(value, '$[0]'),
    json_extract(value, '$[1]'),
    json_extract(value, '$[2]'),
    json_extract(value, '$[3]'),
    json_extract(value, '$[4]'),
    json_extract(value, '$[5]'),
    json_extract(value, '$[6]'),
    json_extract(value, '$[7]'),
    json_extract(value, '$[8]'),
    json_extract(value, '$[9]')
FROM json_each(:batch)

-- name: insert_alike_attempts
-- settle: write what happened, where that was the same for all. The rest is in their live rows, which is read faster than
-- JSON.
--   :ids  JSON list of tasks whose current leases were settled, each checked in this transaction
INSERT INTO attempt (
    task_id, epoch, attempt, outcome, nonce, session, started_at, finished_at, result, error
)
SELECT
    live.id, live.epoch, live.attempt, :outcome, live.nonce, live.session, live.started_at, :now, :result, :error
FROM json_each(:ids) AS given
CROSS JOIN task_live AS live ON given.value = live.id

-- name: delete_live
-- settle, reap, cancel: tasks that ended stand nowhere any more.
--   :ids  JSON list, each checked in this transaction
DELETE FROM task_live WHERE id IN (SELECT value FROM json_each(:ids))

-- name: note_ended_parents
-- settle, reap, cancel: note that tasks which started others end now, before their rows go.
--   :ids  JSON list
INSERT INTO child_note (parent_id, kind, name, key)
SELECT id, 1, '', '' FROM task_live WHERE id IN (SELECT value FROM json_each(:ids)) AND family >= 2
ON CONFLICT (parent_id, kind, name, key) DO NOTHING

-- name: requeue
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

-- name: settled_before
-- settle: what leases that are not current were settled as, if they were.
--   :batch  JSON list whose items begin with [id, epoch, nonce]
-- GIVES one JSON list of [position in batch, outcome]
SELECT json_group_array(json_array(given.key, attempt.outcome))
FROM json_each(:batch) AS given
CROSS JOIN attempt
WHERE
    attempt.task_id = json_extract(given.value, '$[0]')
    AND attempt.epoch = json_extract(given.value, '$[1]')
    AND attempt.nonce = json_extract(given.value, '$[2]')

-- name: held_by_leases
-- settle, lease_states, beat: the running tasks whose current lease is in a list.
--   fence   epoch and nonce both match
--   :batch  JSON list whose items begin with [id, epoch, nonce]
-- GIVES one JSON list of
--   [position in batch, lane, attempt, failures, crashes, session, started_at, due_at, cancel_requested, in_job, family]
SELECT json_group_array(json_array(
    given.key, live.lane, live.attempt, live.failures, live.crashes,
    live.session, live.started_at, live.due_at, live.cancel_requested, live.in_job OR live.family > 0, live.family
))
FROM json_each(:batch) AS given
CROSS JOIN task_live AS live
WHERE
    live.id = json_extract(given.value, '$[0]')
    AND live.state = 2
    AND live.epoch = json_extract(given.value, '$[1]')
    AND live.nonce = json_extract(given.value, '$[2]')

-- name: options
-- lease_states: a task's options.
SELECT options FROM task WHERE id = :id
