-- name: lock_running
-- wait: lock running tasks, if these are their current leases.
--   fence   epoch and nonce both match
--   :ids …  arrays of equal length, each task once
-- GIVES their lanes, records, bytes of records, and the time
SELECT
    live.id, live.lane, live.records, live.record_bytes,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
FROM unnest(:ids::uuid [], :epochs::int4 [], :nonces::int8 []) AS g (id, epoch, nonce)
INNER JOIN drumline.task_live AS live ON g.id = live.id AND g.epoch = live.epoch AND g.nonce = live.nonce
WHERE live.state = 2
ORDER BY live.id
FOR UPDATE OF live

-- name: recorded_of
-- wait: which of these tasks have a record under this name and key.
SELECT r.task_id
FROM unnest(:ids::uuid [], :names::text [], :keys::text []) AS g (id, name, key)
INNER JOIN drumline.step_record AS r ON g.id = r.task_id AND g.name = r.name AND g.key = r.key

-- name: kept_waits
-- wait: since when and until when tasks wait, each for the sleep under this name and key, if they did before.
SELECT w.task_id, w.since, w.deadline
FROM unnest(:ids::uuid [], :names::text [], :keys::text []) AS g (id, name, key)
INNER JOIN drumline.task_wait AS w ON g.id = w.task_id AND g.name = w.name AND g.key = w.key

-- name: put_sleeps
-- wait: keep that tasks sleep, each once; the deadline of a row that is there stays as it is.
INSERT INTO drumline.task_wait (task_id, since, deadline, epoch, kind, name, key, reason)
SELECT g.id, g.since, g.deadline, g.epoch, 2, g.name, g.key, g.reason
FROM
    unnest(
        :ids::uuid [], :since::int8 [], :deadlines::int8 [], :epochs::int4 [], :names::text [], :keys::text [],
        :reasons::text []
    ) AS g (id, since, deadline, epoch, name, key, reason)
WHERE true
ON CONFLICT (task_id, name, key) DO UPDATE SET epoch = excluded.epoch

-- name: drop_passing_waits_of
-- wait: forget what tasks wait for of the kinds that keep nothing: the next try of a step, and people.
DELETE FROM drumline.task_wait AS w WHERE w.task_id = any(:ids::uuid []) AND w.kind >= 20

-- name: drop_sleeps
-- wait: the sleeps of tasks are over, one of each.
DELETE FROM drumline.task_wait AS w
WHERE
    w.task_id = any(:ids::uuid [])
    AND EXISTS (
        SELECT 1 FROM unnest(:ids::uuid [], :names::text [], :keys::text []) AS g (id, name, key)
        WHERE g.id = w.task_id AND g.name = w.name AND g.key = w.key
    )

-- name: insert_sleeps
-- wait: record that sleeps of tasks are over. Their live rows are locked.
INSERT INTO drumline.step_record (task_id, started_at, at, due_at, seq, epoch, tries, kind, status, name, key, value)
SELECT g.id, g.since, g.at, NULL, g.seq, g.epoch, 1, 2, 1, g.name, g.key, g.value
FROM
    unnest(
        :ids::uuid [], :since::int8 [], :at::int8 [], :seqs::int4 [], :epochs::int4 [], :names::text [], :keys::text [],
        :values::bytea []
    ) AS g (id, since, at, seq, epoch, name, key, value)

-- name: count_sleeps
-- wait: count a record for each of these tasks, whose live rows are locked. It is progress.
UPDATE drumline.task_live AS live
SET records = live.records + 1, record_bytes = live.record_bytes + :bytes::int4, failures = 0, crashes = 0
WHERE live.id = any(:ids::uuid [])

-- name: count_sleeps (sqlite)
UPDATE task_live SET records = records + 1, record_bytes = record_bytes + :bytes, failures = 0, crashes = 0
WHERE id IN (SELECT value FROM json_each(:ids))
