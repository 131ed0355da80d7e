-- name: find_fork
-- fork: what was made of an earlier request with this id.
SELECT f.fork_id, f.records, f.fingerprint, task.due_at
FROM drumline.task_fork AS f
LEFT JOIN drumline.task ON f.fork_id = task.id
WHERE f.task_id = :task::uuid AND f.id = :id::text

-- name: fork_place
-- fork: the place of a record among those of its task, and whether the task waits for something of that name.
SELECT
    (
        SELECT r.seq FROM drumline.step_record AS r
        WHERE r.task_id = :task::uuid AND r.name = :name::text AND r.key = :key::text
    ) AS seq,
    EXISTS (
        SELECT 1 FROM drumline.task_wait AS w WHERE w.task_id = :task AND w.name = :name AND w.key = :key
    ) AS waits

-- name: copy_records (postgres)
-- fork: give a new task the records of another before a place; steps that are still being tried are none, and neither are
-- children whose results are kept with them: those that were waited for together, and large ones.
INSERT INTO drumline.step_record (task_id, started_at, at, due_at, seq, epoch, tries, kind, status, name, key, value)
SELECT
    :fork::uuid, r.started_at, r.at, NULL, row_number() OVER (ORDER BY r.seq), 0, r.tries, r.kind, r.status, r.name,
    r.key, r.value
FROM drumline.step_record AS r
WHERE r.task_id = :task::uuid AND r.seq < :before::int4 AND r.status <> 0
    AND r.kind NOT IN (5, 6) AND NOT (r.kind = 4 AND substr(r.value, 1, 1) = ' '::bytea)

-- name: copy_records (sqlite)
-- fork: give a new task the records of another before a place; steps that are still being tried are none, and neither are
-- children whose results are kept with them: those that were waited for together, and large ones.
INSERT INTO step_record (task_id, started_at, at, due_at, seq, epoch, tries, kind, status, name, key, value)
SELECT
    :fork, r.started_at, r.at, NULL, row_number() OVER (ORDER BY r.seq), 0, r.tries, r.kind, r.status, r.name,
    r.key, r.value
FROM step_record AS r
WHERE r.task_id = :task AND r.seq < :before AND r.status <> 0
    AND r.kind NOT IN (5, 6) AND NOT (r.kind = 4 AND substr(r.value, 1, 1) = x'20')

-- name: count_copied
-- fork: count the records of a new task, which a claim sends along.
UPDATE drumline.task_live AS live
SET
    records = (SELECT count(*) FROM drumline.step_record AS r WHERE r.task_id = :fork::uuid),
    record_bytes = (
        SELECT coalesce(sum(octet_length(r.value)), 0) FROM drumline.step_record AS r WHERE r.task_id = :fork
    )
WHERE live.id = :fork
RETURNING live.records

-- name: count_copied (sqlite)
UPDATE task_live
SET
    records = (SELECT count(*) FROM step_record AS r WHERE r.task_id = :fork),
    record_bytes = (SELECT coalesce(sum(length(r.value)), 0) FROM step_record AS r WHERE r.task_id = :fork)
WHERE id = :fork
RETURNING records

-- name: insert_fork
-- fork: note what was made of a request.
INSERT INTO drumline.task_fork (task_id, fork_id, at, records, id, fingerprint)
VALUES (:task::uuid, :fork::uuid, :at::int8, :records::int4, :id::text, :fingerprint::bytea)
