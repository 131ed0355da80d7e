-- name: lock_lease
-- record, wait: lock a running task, if this is its current lease.
--   fence   epoch and nonce both match
-- GIVES its lane, records, bytes of records, and the time
SELECT
    live.lane, live.records, live.record_bytes,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
FROM drumline.task_live AS live
WHERE live.id = :id::uuid AND live.state = 2 AND live.epoch = :epoch::int4 AND live.nonce = :nonce::int8
FOR UPDATE

-- name: settled_attempt
-- wait, restart: how a lease that is not current was settled, if it was.
-- GIVES lane and due time as well if the task is queued: whoever settled it may not have offered it
SELECT attempt.outcome, live.lane, live.due_at
FROM drumline.attempt
LEFT JOIN drumline.task_live AS live ON attempt.task_id = live.id AND live.state = 1 AND live.due_at IS NOT NULL
WHERE attempt.task_id = :id::uuid AND attempt.epoch = :epoch::int4 AND attempt.nonce = :nonce::int8

-- name: find_records
-- record, wait: records of a task by name and key.
SELECT r.name, r.key, r.kind, r.status, r.value, r.seq, r.tries, r.started_at, r.at, r.due_at
FROM unnest(:names::text [], :keys::text []) AS g (name, key)
INNER JOIN drumline.step_record AS r ON r.task_id = :id::uuid AND g.name = r.name AND g.key = r.key

-- name: insert_record
-- record, wait: write a record of a task whose live row is locked.
INSERT INTO drumline.step_record (task_id, started_at, at, due_at, seq, epoch, tries, kind, status, name, key, value)
VALUES (
    :id::uuid, :started_at::int8, :at::int8, :due_at::int8, :seq::int4, :epoch::int4, :tries::int4, :kind::int2,
    :status::int2, :name::text, :key::text, :value::bytea
)

-- name: try_again
-- record: write how a step ended that was tried before. The live row of its task is locked.
UPDATE drumline.step_record AS r
SET
    started_at = :started_at::int8, at = :at::int8, due_at = :due_at::int8, epoch = :epoch::int4, tries = :tries::int4,
    status = :status::int2, value = :value::bytea
WHERE r.task_id = :id::uuid AND r.name = :name::text AND r.key = :key::text AND r.status = 0

-- name: count_records
-- record, wait: count records of a task whose live row is locked. After progress, failures and crashes count anew.
UPDATE drumline.task_live AS live
SET
    records = live.records + :count::int4,
    record_bytes = live.record_bytes + :bytes::int4,
    failures = CASE WHEN :is_progress::bool THEN 0 ELSE live.failures END,
    crashes = CASE WHEN :is_progress THEN 0 ELSE live.crashes END
WHERE live.id = :id::uuid

-- name: count_records (sqlite)
UPDATE task_live
SET
    records = records + :count,
    record_bytes = record_bytes + :bytes,
    failures = CASE WHEN :is_progress THEN 0 ELSE failures END,
    crashes = CASE WHEN :is_progress THEN 0 ELSE crashes END
WHERE id = :id

-- name: forget_failures
-- retry: let steps that failed be tried anew. The tasks are locked and have no live row.
DELETE FROM drumline.step_record AS r WHERE r.task_id = any(:ids::uuid []) AND r.status IN (0, 2)

-- name: waits_of
-- wait, steps: what a task waits for, the earliest first.
SELECT w.name, w.key, w.kind, w.since, w.deadline, w.reason, w.epoch, w.schema, w.pending
FROM drumline.task_wait AS w
WHERE w.task_id = :id::uuid
ORDER BY w.since, w.name, w.key

-- name: put_waits
-- wait: keep what a task waits for; the deadline of a row that is there stays as it is.
INSERT INTO drumline.task_wait (
    task_id, since, deadline, epoch, kind, name, key, reason, tenant, correlation, schema, pending, wake_at
)
SELECT
    :id::uuid, :since::int8, g.deadline, :epoch::int4, g.kind, g.name, g.key, g.reason,
    CASE WHEN g.correlation IS NOT NULL THEN :tenant::text END, g.correlation, g.schema, g.pending, g.wake_at
FROM
    unnest(
        :deadlines::int8 [], :kinds::int2 [], :names::text [], :keys::text [], :reasons::text [], :correlations::text [],
        :schemas::text [], :pending::int4 [], :wake_at::int4 []
    ) AS g (deadline, kind, name, key, reason, correlation, schema, pending, wake_at)
WHERE true
ON CONFLICT (task_id, name, key) DO UPDATE
SET
    epoch = excluded.epoch, tenant = excluded.tenant, correlation = excluded.correlation, schema = excluded.schema,
    registered = CASE WHEN task_wait.correlation = excluded.correlation THEN task_wait.registered END,
    pending = excluded.pending, wake_at = excluded.wake_at

-- name: drop_wait
-- wait: a wait is answered.
DELETE FROM drumline.task_wait AS w WHERE w.task_id = :id::uuid AND w.name = :name::text AND w.key = :key::text

-- name: drop_passing_waits
-- wait: forget what a task waits for of the kinds that keep nothing: the next try of a step, and people.
DELETE FROM drumline.task_wait AS w WHERE w.task_id = :id::uuid AND w.kind >= 20

-- name: record_pages (postgres)
-- claim, records: the first records of tasks after a place each, in their order.
--   :ids, :after  the tasks, and the place of the last record that is known of each
--   :most         bytes of all of them; the first record is read whatever it has
-- GIVES for each the number of the last record of its task
SELECT
    sized.id, sized.name, sized.key, sized.kind, sized.status, sized.value, sized.seq, sized.tries, sized.started_at,
    sized.at, sized.due_at,
    (SELECT max(r.seq) FROM drumline.step_record AS r WHERE r.task_id = sized.id) AS last
FROM (
    SELECT
        g.id, head.name, head.key, head.kind, head.status, head.value, head.seq, head.tries, head.started_at, head.at,
        head.due_at,
        row_number() OVER (ORDER BY g.place, head.seq) AS number,
        sum(octet_length(head.value) + 200) OVER (ORDER BY g.place, head.seq ROWS UNBOUNDED PRECEDING) AS size
    FROM unnest(:ids::uuid [], :after::int4 []) WITH ORDINALITY AS g (id, after, place)
    CROSS JOIN LATERAL (
        SELECT r.name, r.key, r.kind, r.status, r.value, r.seq, r.tries, r.started_at, r.at, r.due_at
        FROM drumline.step_record AS r
        WHERE r.task_id = g.id AND r.seq > g.after
        ORDER BY r.seq
        LIMIT :limit::int4
    ) AS head
) AS sized
WHERE sized.size <= :most::int8 OR sized.number = 1
ORDER BY sized.number

-- name: record_pages (sqlite)
SELECT id, name, key, kind, status, value, seq, tries, started_at, at, due_at, last
FROM (
    SELECT
        g.id, r.name, r.key, r.kind, r.status, r.value, r.seq, r.tries, r.started_at, r.at, r.due_at,
        (SELECT max(other.seq) FROM step_record AS other WHERE other.task_id = g.id) AS last,
        row_number() OVER (ORDER BY g.id, r.seq) AS number,
        row_number() OVER (PARTITION BY g.id ORDER BY r.seq) AS place,
        sum(length(r.value) + 200) OVER (ORDER BY g.id, r.seq ROWS UNBOUNDED PRECEDING) AS size
    FROM unnest(:ids::uuid [], :after::int4 []) AS g (id, after)
    CROSS JOIN step_record AS r
    WHERE r.task_id = g.id AND r.seq > g.after
) AS sized
WHERE (size <= :most OR number = 1) AND place <= :limit
ORDER BY number

-- name: whose_task
-- steps: whether there is such a task, of this tenant.
SELECT task.id FROM drumline.task INNER JOIN drumline.lane ON task.lane = lane.id
WHERE task.id = :id::uuid AND (:tenant::text IS NULL OR lane.tenant = :tenant)

-- name: count_waits
-- stock: how many tasks that are not due wait, by what they wait for.
SELECT waiting.kind, count(DISTINCT waiting.task_id) AS count
FROM (
    SELECT w.kind, w.task_id
    FROM drumline.task_wait AS w
    INNER JOIN drumline.task_live AS live ON w.task_id = live.id
    WHERE
        live.state = 1
        AND live.due_at > coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
    LIMIT :limit::int4
) AS waiting
GROUP BY waiting.kind
