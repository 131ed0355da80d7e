-- name: survey
-- survey: how many dead letters a filter finds, up to :limit, and when they failed. What is NULL does not narrow.
SELECT count(*) AS count, min(found.at) AS oldest_at, max(found.at) AS newest_at
FROM (
    SELECT d.at FROM drumline.dead_letter AS d
    WHERE
        (:causes::int8 [] IS NULL OR d.cause = any(:causes))
        AND d.at >= :since::int8
        AND d.at < :until::int8
        AND (:reason::text IS NULL OR d.reason = :reason)
        AND (:job::uuid IS NULL OR d.job_id = :job)
        AND (:tag::text IS NULL OR d.tags ? :tag)
    LIMIT :limit::int4
) AS found

-- name: exclude_moves (postgres)
-- begin a bulk operation: let no task of this database move to another until it is stored, and no other operation begin. The
-- first statement, so that nothing is locked while it waits for those that are moving.
SELECT pg_advisory_xact_lock(7237976664086179701)

-- name: exclude_moves (sqlite)
SELECT 1 AS locked

-- name: freeze_tasks
-- begin a bulk operation: take these tasks, and note which dead letter each has now.
--   :ids, :seqs  each task once, and its place
INSERT INTO drumline.bulk_item (bulk_id, seq, task_id, epoch)
SELECT :bulk::uuid, g.seq, g.id, (SELECT d.epoch FROM drumline.dead_letter AS d WHERE d.task_id = g.id)
FROM unnest(:ids::uuid [], :seqs::int4 []) AS g (id, seq)

-- name: freeze_dead_letters
-- begin a bulk operation: take the dead letters that a filter finds now, the oldest first, up to :limit.
-- What is NULL does not narrow.
INSERT INTO drumline.bulk_item (bulk_id, seq, task_id, epoch)
SELECT :bulk::uuid, row_number() OVER (ORDER BY d.at, d.task_id), d.task_id, d.epoch
FROM drumline.dead_letter AS d
WHERE
    (:causes::int8 [] IS NULL OR d.cause = any(:causes))
    AND d.at >= :since::int8
    AND d.at < :until::int8
    AND (:reason::text IS NULL OR d.reason = :reason)
    AND (:job::uuid IS NULL OR d.job_id = :job)
    AND (:tag::text IS NULL OR d.tags ? :tag)
ORDER BY d.at, d.task_id
LIMIT :limit::int4

-- name: count_bulk_items
-- begin a bulk operation: how many tasks were taken.
SELECT count(*) AS count FROM drumline.bulk_item AS item WHERE item.bulk_id = :bulk::uuid

-- name: insert_bulk
-- begin a bulk operation. One without tasks has ended at once.
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
)

INSERT INTO drumline.bulk (id, tenant, act, request, rate, state, total, tokens_at, created_at, finished_at)
SELECT
    :id::uuid, :tenant::text, :act::text, :request::text, :rate::float8,
    CASE WHEN :total::int4 > 0 THEN 'running' ELSE 'completed' END,
    :total, clock.now, clock.now,
    CASE WHEN :total > 0 THEN NULL ELSE clock.now END
FROM clock

-- name: get_bulk
-- bulk operations: one as it stands.
--   :tenant  NULL means every tenant's
SELECT
    b.id, b.tenant, b.act, b.request, b.rate, b.state, b.total, b.position, b.failed, b.skipped, b.created_at,
    b.finished_at
FROM drumline.bulk AS b
WHERE b.id = :id::uuid AND (:tenant::text IS NULL OR b.tenant = :tenant)

-- name: list_bulks
-- bulk operations: newest first, below :before. What is NULL does not narrow.
SELECT
    b.id, b.tenant, b.act, b.request, b.rate, b.state, b.total, b.position, b.failed, b.skipped, b.created_at,
    b.finished_at
FROM drumline.bulk AS b
WHERE
    (:before::uuid IS NULL OR b.id < :before)
    AND (:tenant::text IS NULL OR b.tenant = :tenant)
    AND (:states::text [] IS NULL OR b.state = any(:states))
ORDER BY b.id DESC
LIMIT :limit::int4

-- name: bulk_items
-- bulk operations: the tasks of one behind a place. What is NULL does not narrow.
--   :refused  whether only outcomes are asked for that are kept with a reason
SELECT found.seq, found.task_id, found.outcome, found.error
FROM (
    SELECT
        item.seq,
        item.task_id,
        coalesce(item.outcome, CASE WHEN item.seq <= b.position THEN 'done' ELSE 'waiting' END) AS outcome,
        item.error
    FROM drumline.bulk_item AS item
    INNER JOIN drumline.bulk AS b ON item.bulk_id = b.id
    WHERE
        item.bulk_id = :id::uuid
        AND item.seq > :after::int4
        AND (NOT :refused::bool OR item.outcome IS NOT NULL)
        AND (:tenant::text IS NULL OR b.tenant = :tenant)
) AS found
WHERE :outcomes::text [] IS NULL OR found.outcome = any(:outcomes)
ORDER BY found.seq
LIMIT :limit::int4

-- name: running_bulks
-- bulk operations: those that have not ended.
SELECT b.id FROM drumline.bulk AS b WHERE b.state = 'running' ORDER BY b.id

-- name: abort_bulk
-- abort a bulk operation.
UPDATE drumline.bulk AS b
SET
    state = 'aborted',
    finished_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
WHERE b.id = :id::uuid AND b.state = 'running'
RETURNING b.id

-- name: lock_bulk
-- advance a bulk operation: take one that runs, unless somebody else is dealing with it.
-- GIVES how it stands as in get_bulk, then how its rate is kept, and the time
SELECT
    b.id, b.tenant, b.act, b.request, b.rate, b.state, b.total, b.position, b.failed, b.skipped, b.created_at,
    b.finished_at, b.tokens, b.tokens_at,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
FROM drumline.bulk AS b
WHERE b.id = :id::uuid AND b.state = 'running'
FOR UPDATE SKIP LOCKED

-- name: next_bulk_items
-- advance a bulk operation: its next tasks, and which dead letter each of them has now.
SELECT
    item.seq, item.task_id, item.epoch,
    (SELECT d.epoch FROM drumline.dead_letter AS d WHERE d.task_id = item.task_id) AS now_epoch
FROM drumline.bulk_item AS item
WHERE item.bulk_id = :id::uuid AND item.seq > :position::int4
ORDER BY item.seq
LIMIT :limit::int4

-- name: refuse_bulk_items
-- advance a bulk operation: note why the act does not hold for some tasks.
--   :seqs, :outcomes, :errors  arrays of equal length
UPDATE drumline.bulk_item AS item
SET outcome = g.outcome, error = g.error
FROM unnest(:seqs::int4 [], :outcomes::text [], :errors::text []) AS g (seq, outcome, error)
WHERE item.bulk_id = :id::uuid AND item.seq = g.seq

-- name: advance_bulk
-- advance a bulk operation: note how far it has come. At its last task it has ended.
UPDATE drumline.bulk AS b
SET
    position = b.position + :count::int4,
    failed = b.failed + :failed::int4,
    skipped = b.skipped + :skipped::int4,
    tokens = :tokens::float8,
    tokens_at = :now::int8,
    state = CASE WHEN b.position + :count >= b.total THEN 'completed' ELSE b.state END,
    finished_at = CASE WHEN b.position + :count >= b.total THEN :now END
WHERE b.id = :id::uuid

-- name: ended_bulks
-- prune: bulk operations that ended before a time, a few at once.
SELECT b.id FROM drumline.bulk AS b WHERE b.finished_at < :before::int8 ORDER BY b.id LIMIT :limit::int4

-- name: prune_bulk_items
-- prune: forget some tasks of a bulk operation.
DELETE FROM drumline.bulk_item AS item
WHERE
    item.bulk_id = :id::uuid
    AND item.seq IN (
        SELECT i.seq FROM drumline.bulk_item AS i WHERE i.bulk_id = :id ORDER BY i.seq LIMIT :limit::int4
    )
RETURNING item.seq

-- name: prune_bulk
-- prune: forget a bulk operation whose tasks are forgotten.
DELETE FROM drumline.bulk AS b WHERE b.id = :id::uuid
RETURNING b.id

-- name: prune_causes
-- prune: forget causes that have no dead letters and were last seen before a time.
DELETE FROM drumline.cause AS c WHERE c.count = 0 AND c.last_at < :before::int8
