-- name: unregistered_signal_waits
-- exchange: queued tasks that wait for signals by keys and are not registered by a map of this number, after one of them.
SELECT w.task_id, w.tenant, w.name, w.correlation, coalesce(w.unregistered, 0) AS version
FROM drumline.task_wait AS w
INNER JOIN drumline.task_live AS live ON w.task_id = live.id
WHERE
    w.correlation IS NOT NULL AND coalesce(w.registered, -1) < :number::int8 AND w.task_id > :after::uuid
    AND live.state = 1
ORDER BY w.task_id, w.name, w.correlation
LIMIT :limit::int4

-- name: mark_signal_waits
-- exchange: waits are registered in all databases, unless that was undone meanwhile.
--   :tasks …  arrays of equal length
UPDATE drumline.task_wait AS w
SET registered = :number::int8
FROM unnest(:tasks::uuid [], :names::text [], :keys::text [], :versions::int4 []) AS g (task, name, key, version)
WHERE w.task_id = g.task AND w.name = g.name AND w.correlation = g.key AND coalesce(w.unregistered, 0) = g.version

-- name: unregister_signal_wait
-- exchange: a wait has to be registered anew. The task is locked.
UPDATE drumline.task_wait AS w
SET registered = NULL, unregistered = coalesce(w.unregistered, 0) + 1
WHERE w.task_id = :id::uuid AND w.name = :name::text AND w.correlation = :key::text

-- name: put_signal_watches
-- exchange: tasks wait for signals by keys. The keys are locked.
--   :tasks …  arrays of equal length, each once
INSERT INTO drumline.signal_watch (task_id, at, version, tenant, name, key)
SELECT g.task, :at::int8, g.version, g.tenant, g.name, g.key
FROM
    unnest(
        :tasks::uuid [], :versions::int8 [], :tenants::text [], :names::text [], :keys::text []
    ) AS g (task, version, tenant, name, key)
WHERE true
ON CONFLICT (tenant, name, key, task_id) DO UPDATE SET version = excluded.version

-- name: free_watches
-- exchange, signal: tasks that are registered for a key and are given no signal now, and whether they are of this database.
SELECT
    watch.task_id, watch.version, EXISTS (SELECT 1 FROM drumline.task WHERE task.id = watch.task_id) AS is_here
FROM drumline.signal_watch AS watch
WHERE
    watch.tenant = :tenant::text AND watch.name = :name::text AND watch.key = :key::text
    AND NOT EXISTS (
        SELECT 1 FROM drumline.signal AS s
        WHERE
            s.task_id IS NULL AND s.tenant = :tenant AND s.name = :name AND s.key = :key
            AND s.given_to = watch.task_id AND s.taken_at IS NULL
    )
ORDER BY watch.seq
LIMIT :limit::int4

-- name: free_signals
-- exchange, signal: signals by a key that are neither taken nor given, in their order.
SELECT s.seq FROM drumline.signal AS s
WHERE
    s.task_id IS NULL AND s.tenant = :tenant::text AND s.name = :name::text AND s.key = :key::text
    AND s.taken_at IS NULL AND s.given_to IS NULL
ORDER BY s.at, s.seq
LIMIT :limit::int4

-- name: give_signal
-- exchange, signal: give a signal to a task. Its key, which a signal to a task has not, is locked.
UPDATE drumline.signal AS s
SET given_to = :task::uuid, given_no = coalesce(s.given_no, 0) + 1, given_watch = :watch::int8
WHERE s.seq = :seq::int8 AND s.key = :key::text AND s.taken_at IS NULL AND s.given_to IS NULL

-- name: left_signals
-- exchange: keys of signals that a task of this database could have taken and has not, though others are registered.
SELECT DISTINCT s.tenant, s.name, s.key
FROM drumline.signal AS s
INNER JOIN drumline.signal_watch AS watch ON s.tenant = watch.tenant AND s.name = watch.name AND s.key = watch.key
WHERE s.key <> '' AND s.task_id IS NULL AND s.taken_at IS NULL AND s.given_to IS NULL AND s.at < :before::int8
LIMIT :limit::int4

-- name: given_signals
-- exchange: signals that are given to tasks which have to be told of it, above a number.
SELECT s.seq, s.given_no, s.given_watch, s.given_to, s.tenant, s.name, s.key, s.id, s.payload
FROM drumline.signal AS s
WHERE s.given_to IS NOT NULL AND s.taken_at IS NULL AND s.key <> '' AND s.seq > :after::int8
ORDER BY s.seq
LIMIT :limit::int4

-- name: given_was_taken
-- exchange: the task has taken the signal that it was given. The key is locked.
UPDATE drumline.signal AS s
SET taken_at = :at::int8, taken_by = s.given_to
WHERE
    s.seq = :seq::int8 AND s.key = :key::text AND s.given_no = :no::int4
    AND s.given_to IS NOT NULL AND s.taken_at IS NULL

-- name: given_was_refused
-- exchange: the task has refused the signal that it was given: others may have it. The key is locked.
UPDATE drumline.signal AS s
SET given_to = NULL
WHERE
    s.seq = :seq::int8 AND s.key = :key::text AND s.given_no = :no::int4
    AND s.given_to IS NOT NULL AND s.taken_at IS NULL
RETURNING s.seq

-- name: drop_signal_watch
-- exchange: a task is registered no more, unless it was registered anew.
DELETE FROM drumline.signal_watch AS watch
WHERE
    watch.tenant = :tenant::text AND watch.name = :name::text AND watch.key = :key::text
    AND watch.task_id = :task::uuid AND watch.version = :version::int8

-- name: answer_to_given
-- exchange: what a task said to a signal that it was given: whether it has taken it, and which giving it has refused.
SELECT s.taken_by IS NOT NULL AS is_taken, coalesce(s.given_no, 0) AS refused
FROM drumline.signal AS s
WHERE s.task_id = :task::uuid AND s.id = :id::text

-- name: keep_answer
-- exchange: keep what a locked task says to a signal that it is given; the giving with the highest number that it refused.
INSERT INTO drumline.signal (task_id, at, taken_at, taken_by, tenant, name, key, id, payload, given_no)
VALUES (
    :task::uuid, :at::int8, :at, :taken_by::uuid, :tenant::text, :name::text, '', :id::text, :payload::bytea, :no::int4
)
ON CONFLICT (task_id, id) WHERE task_id IS NOT NULL DO UPDATE
SET taken_by = excluded.taken_by, given_no = excluded.given_no

-- name: parked_task
-- exchange: a locked task that is queued, since its last attempt has ended to wait.
SELECT live.lane, live.records, live.record_bytes, live.epoch
FROM drumline.task_live AS live
WHERE
    live.id = :id::uuid AND live.state = 1
    AND (SELECT a.outcome FROM drumline.attempt AS a WHERE a.task_id = :id ORDER BY a.epoch DESC LIMIT 1) = 14

-- name: current_signal_wait
-- exchange: what a parked task waits for by a key, as its last attempt did.
SELECT w.key, w.since FROM drumline.task_wait AS w
WHERE
    w.task_id = :id::uuid AND w.kind = :kind::int2 AND w.name = :name::text AND w.correlation = :correlation::text
    AND w.epoch = (SELECT max(o.epoch) FROM drumline.task_wait AS o WHERE o.task_id = :id)
ORDER BY w.since, w.key
LIMIT 1

-- name: signal_watches
-- exchange: registrations from before a time, above a number.
SELECT watch.seq, watch.task_id, watch.version, watch.tenant, watch.name, watch.key
FROM drumline.signal_watch AS watch
WHERE watch.seq > :after::int8 AND watch.at < :before::int8
ORDER BY watch.seq
LIMIT :limit::int4

-- name: watched_waits
-- exchange: which of some tasks wait for signals by keys.
SELECT DISTINCT g.task, g.name, g.key
FROM unnest(:tasks::uuid [], :names::text [], :keys::text []) AS g (task, name, key)
INNER JOIN drumline.task_wait AS w ON g.task = w.task_id AND g.name = w.name AND g.key = w.correlation
