-- name: queues
-- queues: those that have live tasks or are paused.
SELECT
    tenant, queue,
    sum(pending), sum(queued), sum(processing), min(oldest_due_at),
    max(is_paused), max(reason),
    json_group_array(json_array(name, queued, oldest_due_at)) FILTER (WHERE queued > 0) AS waiting
FROM (
    SELECT
        lane.tenant, lane.queue, lane.name,
        sum(live.state = 0 OR (live.state = 1 AND live.due_at > :now)) AS pending,
        sum(live.state = 1 AND live.due_at <= :now) AS queued,
        sum(live.state = 2) AS processing,
        min(CASE WHEN live.state = 1 AND live.due_at <= :now THEN live.due_at END) AS oldest_due_at,
        0 AS is_paused,
        NULL AS reason
    FROM task_live AS live
    INNER JOIN lane ON live.lane = lane.id
    GROUP BY lane.tenant, lane.queue, lane.name
    UNION ALL
    SELECT tenant, queue, NULL, 0, 0, 0, NULL, 1, reason FROM queue_pause
    UNION ALL
    SELECT DISTINCT tenant, queue, NULL, 0, 0, 0, NULL, 0, NULL FROM lane
)
WHERE :tenant IS NULL OR tenant = :tenant
GROUP BY tenant, queue
ORDER BY tenant, queue

-- name: artifact
-- artifact: one file.
SELECT content_type, data
FROM artifact
WHERE
    task_id = :id
    AND name = :name
    AND (
        :tenant IS NULL
        OR EXISTS (
            SELECT 1 FROM task INNER JOIN lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )

-- name: get
-- get: tasks as they stand.
--   :ids     JSON list
--   :tenant  NULL means every tenant
SELECT
    id, tenant, queue, name, priority, state, created_at, due_at, epoch, attempt, failures, crashes,
    cancel_requested, started_at, finished_at, session, options, idempotency_key, result, error, payload
FROM task_view
WHERE id IN (SELECT value FROM json_each(:ids)) AND (:tenant IS NULL OR tenant = :tenant)

-- name: list_tasks
-- list: tasks newest first. What is NULL does not narrow.
--   :before    ids below this one
--   :states    JSON list of states; :due is 'now' for queued tasks that are due, 'later' for those that are not
--   :with_payload  1 to read payloads and results too
SELECT
    id, tenant, queue, name, priority, state, created_at, due_at, epoch, attempt, failures, crashes,
    cancel_requested, started_at, finished_at, session, options, idempotency_key,
    CASE WHEN :with_payload THEN result END AS result,
    error,
    CASE WHEN :with_payload THEN payload END AS payload
FROM task_view
WHERE
    (:before IS NULL OR id < :before)
    AND (:tenant IS NULL OR tenant = :tenant)
    AND (:queue IS NULL OR queue = :queue)
    AND (:name IS NULL OR name = :name)
    AND (:finished_since IS NULL OR finished_at >= :finished_since)
    AND (:worker IS NULL OR session = :worker)
    AND (:key IS NULL OR idempotency_key = :key)
    AND (:job IS NULL OR id IN (SELECT task_id FROM job_task WHERE job_id = :job))
    AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(options, '$.tags') WHERE value = :tag))
    AND (
        :states IS NULL
        OR state IN (SELECT value FROM json_each(:states))
        OR (state = 1 AND due_at > :now AND :pending)
        OR (state = 1 AND due_at <= :now AND :queued)
    )
ORDER BY id DESC
LIMIT :limit

-- name: attempts
-- attempts: a task's executions, oldest first, the running one last.
SELECT epoch, attempt, outcome, session, started_at, finished_at, error
FROM attempt
WHERE
    task_id = :id
    AND (
        :tenant IS NULL
        OR EXISTS (
            SELECT 1 FROM task INNER JOIN lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
UNION ALL
SELECT epoch, attempt, state, session, started_at, NULL, NULL
FROM task_live
WHERE
    id = :id
    AND state = 2
    AND (
        :tenant IS NULL
        OR EXISTS (
            SELECT 1 FROM task INNER JOIN lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
ORDER BY epoch

-- name: holders
-- log: who ran executions, whether they have ended or not, and with which nonce.
--   :batch  JSON list of [id, epoch]
SELECT given.key, attempt.session, attempt.nonce
FROM json_each(:batch) AS given
CROSS JOIN attempt
WHERE
    attempt.task_id = json_extract(given.value, '$[0]')
    AND attempt.epoch = json_extract(given.value, '$[1]')
UNION ALL
SELECT given.key, live.session, live.nonce
FROM json_each(:batch) AS given
CROSS JOIN task_live AS live
WHERE
    live.id = json_extract(given.value, '$[0]')
    AND live.state = 2
    AND live.epoch = json_extract(given.value, '$[1]')

-- name: read_log
-- log: what was logged after (:epoch, :seq), of one attempt or of all.
SELECT epoch, seq, text FROM task_log
WHERE
    task_id = :id
    AND (epoch, seq) > (:epoch, :seq)
    AND (:only IS NULL OR epoch = :only)
    AND (
        :tenant IS NULL
        OR EXISTS (
            SELECT 1 FROM task INNER JOIN lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
ORDER BY epoch, seq
LIMIT 1000

-- name: artifacts
-- artifacts: what files a task made.
SELECT name, content_type, length(data), created_at
FROM artifact
WHERE
    task_id = :id
    AND (
        :tenant IS NULL
        OR EXISTS (
            SELECT 1 FROM task INNER JOIN lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
ORDER BY name

-- name: count_ahead
-- count_ahead: the due tasks of a queue that a claim would take before one with this score.
--   :score  due time less a minute for each point of priority
SELECT count(*)
FROM (
    SELECT 1
    FROM lane
    INNER JOIN task_live AS live ON lane.id = live.lane
    WHERE
        lane.tenant = :tenant
        AND lane.queue = :queue
        AND live.due_at < min(:score + lane.priority * 60000, :now + 1)
        AND live.state = 1
    LIMIT :limit
)
