-- name: lock_correlations (postgres)
-- signal, wait: let no other transaction signal or look by these keys, until the end of this one. Before all other locks.
--   :keys  texts of tenant, name and key, sorted
SELECT pg_advisory_xact_lock(hashtextextended(k.key, 58))
FROM (SELECT g.key FROM unnest(:keys::text []) AS g (key) ORDER BY g.key OFFSET 0) AS k

-- name: lock_correlations (sqlite)
SELECT 1 AS locked FROM json_each(:keys) LIMIT 1

-- name: tenant_of
-- wait: whose task it is.
SELECT lane.tenant FROM drumline.task INNER JOIN drumline.lane ON task.lane = lane.id WHERE task.id = :id::uuid

-- name: signal_target
-- signal: whose a locked task is, and whether it has not ended.
SELECT
    (SELECT lane.tenant FROM drumline.lane WHERE lane.id = task.lane) AS tenant,
    EXISTS (SELECT 1 FROM drumline.task_live AS live WHERE live.id = task.id) AS is_live
FROM drumline.task
WHERE task.id = :id::uuid

-- name: find_signal
-- signal: a signal of the sender's id that is there already: to a task.
SELECT s.name, s.payload, s.at FROM drumline.signal AS s
WHERE s.task_id = :task::uuid AND s.id = :id::text

-- name: find_signal_by_key
-- signal: a signal of the sender's id that is there already, by a key.
SELECT s.name, s.payload, s.at FROM drumline.signal AS s
WHERE s.task_id IS NULL AND s.tenant = :tenant::text AND s.name = :name::text AND s.key = :key::text AND s.id = :id::text

-- name: count_untaken
-- signal: how many signals nobody has taken: of a task, or of a key.
SELECT
    (SELECT count(*) FROM drumline.signal AS s WHERE s.task_id = :task::uuid AND s.taken_at IS NULL)
    + (
        SELECT count(*) FROM drumline.signal AS s
        WHERE
            :task IS NULL AND s.task_id IS NULL AND s.tenant = :tenant::text AND s.name = :name::text AND s.key = :key::text
            AND s.taken_at IS NULL
    ) AS count

-- name: insert_signal
-- signal: keep a signal.
INSERT INTO drumline.signal (task_id, at, tenant, name, key, id, payload)
VALUES (:task::uuid, :at::int8, :tenant::text, :name::text, :key::text, :id::text, :payload::bytea)

-- name: waiting_by_key
-- signal: tasks that wait for a signal by a key.
SELECT DISTINCT w.task_id FROM drumline.task_wait AS w
WHERE w.tenant = :tenant::text AND w.name = :name::text AND w.correlation = :key::text

-- name: wake
-- signal: make queued tasks due that wait for it. The tasks are locked.
--   transition  queued -> queued
--   fence       epoch rises
--   :kind       the kind of wait; :key what it is correlated by, NULL for a signal to the task itself
UPDATE drumline.task_live AS live
SET due_at = :now::int8, epoch = live.epoch + 1
WHERE
    live.id = any(:ids::uuid [])
    AND live.state = 1
    AND live.due_at > :now
    AND EXISTS (
        SELECT 1 FROM drumline.task_wait AS w
        WHERE
            w.task_id = live.id AND w.kind = :kind::int2 AND w.name = :name::text
            AND (:key::text IS NULL OR w.correlation = :key)
    )
RETURNING live.id, live.lane, live.due_at, live.epoch

-- name: wake (sqlite)
UPDATE task_live
SET due_at = :now, epoch = epoch + 1
WHERE
    id IN (SELECT value FROM json_each(:ids))
    AND state = 1
    AND due_at > :now
    AND EXISTS (
        SELECT 1 FROM task_wait AS w
        WHERE
            w.task_id = task_live.id AND w.kind = :kind AND w.name = :name
            AND (:key IS NULL OR w.correlation = :key)
    )
RETURNING id, lane, due_at, epoch

-- name: next_signal
-- wait: the first signal that a wait may take: to the task itself, or by its correlation. Only the latter are given to others.
SELECT first.seq, first.key, first.id, first.payload
FROM (
    SELECT own.* FROM (
        SELECT s.seq, s.at, s.key, s.id, s.payload FROM drumline.signal AS s
        WHERE s.task_id = :task::uuid AND s.name = :name::text AND s.taken_at IS NULL
        ORDER BY s.at, s.seq
        LIMIT 1
    ) AS own
    UNION ALL
    SELECT shared.* FROM (
        SELECT s.seq, s.at, s.key, s.id, s.payload FROM drumline.signal AS s
        WHERE
            s.task_id IS NULL AND s.tenant = :tenant::text AND s.name = :name AND s.key = :correlation::text
            AND s.taken_at IS NULL AND s.given_to IS NULL
        ORDER BY s.at, s.seq
        LIMIT 1
    ) AS shared
) AS first
ORDER BY first.at, first.seq
LIMIT 1

-- name: take_signal
-- wait: a wait has taken a signal to its task, which stays: it is known when it is sent again. By its id: the
-- numbers of tasks that an earlier release moved here may be those of other signals, too.
UPDATE drumline.signal AS s SET taken_at = :at::int8, taken_by = s.task_id
WHERE s.task_id = :task::uuid AND s.id = :id::text AND s.taken_at IS NULL

-- name: take_signal_by_key
-- wait: a wait has taken a signal by its correlation. The key, which a signal to a task has not, is locked.
UPDATE drumline.signal AS s SET taken_at = :at::int8, taken_by = :task::uuid
WHERE s.seq = :seq::int8 AND s.key = :key::text AND s.taken_at IS NULL AND s.given_to IS NULL

-- name: prune_signals
-- prune: forget signals by correlation that came before a time, taken or not.
DELETE FROM drumline.signal AS s WHERE s.key <> '' AND s.task_id IS NULL AND s.at < :before::int8
