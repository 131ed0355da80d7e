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
