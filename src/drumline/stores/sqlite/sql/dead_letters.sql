-- name: dead_letter_groups
-- dead letters: groups of one fingerprint, from the counts of their causes. What is NULL does not narrow.
--   :by_count              1 to sort by the count, else by when it was last seen
--   :below, :below_group   the value that the last group of the page before is sorted by, and its fingerprint
SELECT fingerprint, kind, message, count, first_at, last_at, names, queues
FROM (
    SELECT
        cause.fingerprint,
        min(cause.kind) AS kind,
        min(cause.message) AS message,
        sum(cause.count) AS count,
        min(cause.first_at) AS first_at,
        max(cause.last_at) AS last_at,
        json_group_array(DISTINCT lane.name) AS names,
        json_group_array(DISTINCT lane.queue) AS queues,
        CASE WHEN :by_count THEN sum(cause.count) ELSE max(cause.last_at) END AS value
    FROM cause
    INNER JOIN lane ON cause.lane = lane.id
    WHERE
        cause.count > 0
        AND (:tenant IS NULL OR lane.tenant = :tenant)
        AND (:queue IS NULL OR lane.queue = :queue)
        AND (:name IS NULL OR lane.name = :name)
        AND (:fingerprint IS NULL OR cause.fingerprint = :fingerprint)
        AND (:kind IS NULL OR cause.kind = :kind)
    GROUP BY cause.fingerprint
)
WHERE :below IS NULL OR (value, fingerprint) < (:below, :below_group)
ORDER BY value DESC, fingerprint DESC
LIMIT :limit

-- name: reasons
-- relay: why attempts were the last of their tasks, whether their dead letters are still there or not.
--   :batch  JSON list of [task id, attempt]
-- GIVES the place of each that is known, and its reason
SELECT
    given.key AS place,
    coalesce(letter.reason, died.reason) AS reason
FROM json_each(:batch) AS given
CROSS JOIN attempt AS died ON json_extract(given.value, '$[0]') = died.task_id
LEFT JOIN dead_letter AS letter ON died.task_id = letter.task_id AND died.epoch = letter.epoch
WHERE
    died.attempt = json_extract(given.value, '$[1]')
    AND died.outcome = 4
    AND coalesce(letter.reason, died.reason) IS NOT NULL

-- name: payload_edits
-- dead letters: what a task was given before.
SELECT epoch, at, payload
FROM payload_edit
WHERE
    task_id = :id
    AND (
        :tenant IS NULL
        OR EXISTS (
            SELECT 1 FROM task INNER JOIN lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
ORDER BY epoch

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

-- name: get_dead_letters
-- dead letters: those of tasks.
--   :ids     JSON list
--   :tenant  NULL means every tenant
SELECT
    dead.task_id, lane.tenant, lane.queue, lane.name, lane.priority, dead.at, dead.epoch, dead.reason,
    cause.fingerprint, cause.kind, dead.message, dead.attempts, dead.job_id
FROM json_each(:ids) AS given
INNER JOIN dead_letter AS dead ON given.value = dead.task_id
INNER JOIN cause ON dead.cause = cause.id
INNER JOIN lane ON cause.lane = lane.id
WHERE :tenant IS NULL OR lane.tenant = :tenant

-- name: find_causes
-- dead letters: the causes that a filter means, and how many dead letters each has. What is NULL does not narrow.
SELECT cause.id, cause.count
FROM cause
INNER JOIN lane ON cause.lane = lane.id
WHERE
    cause.count > 0
    AND (:tenant IS NULL OR lane.tenant = :tenant)
    AND (:queue IS NULL OR lane.queue = :queue)
    AND (:name IS NULL OR lane.name = :name)
    AND (:fingerprint IS NULL OR cause.fingerprint = :fingerprint)
    AND (:kind IS NULL OR cause.kind = :kind)

-- name: find_dead_letters_of_job
-- dead letters: the latest of one job below (:before_at, :before_task). What is NULL does not narrow.
--   :causes  JSON list
SELECT at, task_id FROM dead_letter
WHERE
    job_id = :job
    AND (:causes IS NULL OR cause IN (SELECT value FROM json_each(:causes)))
    AND (at, task_id) < (:before_at, :before_task)
    AND at >= :since
    AND at < :until
    AND (:reason IS NULL OR reason = :reason)
    AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = :tag))
ORDER BY at DESC, task_id DESC
LIMIT :limit

-- name: find_dead_letters
-- dead letters: the latest below (:before_at, :before_task). What is NULL does not narrow.
--   :causes  JSON list
SELECT at, task_id FROM dead_letter
WHERE
    (:causes IS NULL OR cause IN (SELECT value FROM json_each(:causes)))
    AND (at, task_id) < (:before_at, :before_task)
    AND at >= :since
    AND at < :until
    AND (:reason IS NULL OR reason = :reason)
    AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = :tag))
ORDER BY at DESC, task_id DESC
LIMIT :limit

-- name: find_dead_letters_of_cause
-- dead letters: the latest of one cause below (:before_at, :before_task). What is NULL does not narrow.
SELECT at, task_id FROM dead_letter
WHERE
    cause = :cause
    AND (at, task_id) < (:before_at, :before_task)
    AND at >= :since
    AND at < :until
    AND (:reason IS NULL OR reason = :reason)
    AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = :tag))
ORDER BY at DESC, task_id DESC
LIMIT :limit

-- name: tenant_of_task
-- discard: the tenant of a task; no row if there is no such task.
SELECT lane.tenant FROM task INNER JOIN lane ON task.lane = lane.id
WHERE task.id = :id
