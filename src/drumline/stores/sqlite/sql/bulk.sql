-- name: abort_bulk
-- abort a bulk operation.
UPDATE bulk SET state = 'aborted', finished_at = :now WHERE id = :id AND state = 'running'

-- name: list_bulks
-- bulk operations: newest first, below :before. What is NULL does not narrow.
--   :states  JSON list
SELECT id, tenant, act, request, rate, state, total, position, failed, skipped, created_at, finished_at
FROM bulk
WHERE
    (:before IS NULL OR id < :before)
    AND (:tenant IS NULL OR tenant = :tenant)
    AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
ORDER BY id DESC
LIMIT :limit

-- name: bulk_items
-- bulk operations: the tasks of one behind a place. What is NULL does not narrow.
--   :outcomes  JSON list
SELECT seq, task_id, outcome, error
FROM (
    SELECT
        item.seq,
        item.task_id,
        coalesce(item.outcome, CASE WHEN item.seq <= bulk.position THEN 'done' ELSE 'waiting' END) AS outcome,
        item.error
    FROM bulk_item AS item
    INNER JOIN bulk ON item.bulk_id = bulk.id
    WHERE
        item.bulk_id = :id
        AND item.seq > :after
        AND (NOT :refused OR item.outcome IS NOT NULL)
        AND (:tenant IS NULL OR bulk.tenant = :tenant)
)
WHERE :outcomes IS NULL OR outcome IN (SELECT value FROM json_each(:outcomes))
ORDER BY seq
LIMIT :limit

-- name: running_bulks
-- bulk operations: those that have not ended.
SELECT id FROM bulk WHERE state = 'running' ORDER BY id

-- name: prune_causes
-- prune: forget causes that have no dead letters and were last seen before a time.
DELETE FROM cause WHERE count = 0 AND last_at < :before

-- name: ended_bulks
-- prune: bulk operations that ended before a time, a few at once.
SELECT id FROM bulk WHERE finished_at < :before ORDER BY id LIMIT :limit

-- name: prune_bulk_items
-- prune: forget some tasks of a bulk operation.
DELETE FROM bulk_item
WHERE bulk_id = :id AND seq IN (SELECT seq FROM bulk_item WHERE bulk_id = :id ORDER BY seq LIMIT :limit)

-- name: prune_bulk
-- prune: forget a bulk operation whose tasks are forgotten.
DELETE FROM bulk WHERE id = :id

-- name: freeze_tasks
-- begin a bulk operation: take these tasks, and note which dead letter each has now.
--   :ids  JSON list, each once
INSERT INTO bulk_item (bulk_id, seq, task_id, epoch)
SELECT :bulk, given.key + 1, given.value, dead_letter.epoch
FROM json_each(:ids) AS given
LEFT JOIN dead_letter ON given.value = dead_letter.task_id

-- name: freeze_dead_letters
-- begin a bulk operation: take the dead letters that a filter finds now, the oldest first, up to :limit.
--   :causes  JSON list. What is NULL does not narrow
INSERT INTO bulk_item (bulk_id, seq, task_id, epoch)
SELECT :bulk, row_number() OVER (ORDER BY at, task_id), task_id, epoch
FROM dead_letter
WHERE
    (:causes IS NULL OR cause IN (SELECT value FROM json_each(:causes)))
    AND at >= :since
    AND at < :until
    AND (:reason IS NULL OR reason = :reason)
    AND (:job IS NULL OR job_id = :job)
    AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = :tag))
ORDER BY at, task_id
LIMIT :limit

-- name: insert_bulk
-- begin a bulk operation. One without tasks has ended at once.
INSERT INTO bulk (id, tenant, act, request, rate, state, total, tokens_at, created_at, finished_at)
VALUES (
    :id, :tenant, :act, :request, :rate, CASE WHEN :total > 0 THEN 'running' ELSE 'completed' END, :total, :now, :now,
    CASE WHEN :total > 0 THEN NULL ELSE :now END
)

-- name: get_bulk
-- bulk operations: one as it stands, and how its rate is kept.
--   :tenant  NULL means every tenant's
SELECT
    id, tenant, act, request, rate, state, total, position, failed, skipped, created_at, finished_at,
    tokens, tokens_at
FROM bulk
WHERE id = :id AND (:tenant IS NULL OR tenant = :tenant)

-- name: next_bulk_items
-- advance a bulk operation: its next tasks, and which dead letter each of them has now.
-- GIVES one JSON list of [seq, task id, epoch of the dead letter that was chosen, epoch of the one that is there]
SELECT json_group_array(json_array(seq, task_id, epoch, now_epoch))
FROM (
    SELECT item.seq, item.task_id, item.epoch, dead_letter.epoch AS now_epoch
    FROM bulk_item AS item
    LEFT JOIN dead_letter ON item.task_id = dead_letter.task_id
    WHERE item.bulk_id = :id AND item.seq > :position
    ORDER BY item.seq
    LIMIT :limit
)

-- name: refuse_bulk_items
-- advance a bulk operation: note why the act does not hold for some tasks.
--   :batch  JSON list of [seq, outcome, error]
UPDATE bulk_item
SET outcome = json_extract(given.value, '$[1]'), error = json_extract(given.value, '$[2]')
FROM json_each(:batch) AS given
WHERE bulk_item.bulk_id = :id AND bulk_item.seq = json_extract(given.value, '$[0]')

-- name: advance_bulk
-- advance a bulk operation: note how far it has come. At its last task it has ended.
UPDATE bulk
SET
    position = position + :count,
    failed = failed + :failed,
    skipped = skipped + :skipped,
    tokens = :tokens,
    tokens_at = :now,
    state = CASE WHEN position + :count >= total THEN 'completed' ELSE state END,
    finished_at = CASE WHEN position + :count >= total THEN :now END
WHERE id = :id

-- name: survey
-- survey: how many dead letters a filter finds, up to :limit, and when they failed. What is NULL does not narrow.
--   :causes  JSON list
SELECT count(*), min(at), max(at)
FROM (
    SELECT at FROM dead_letter
    WHERE
        (:causes IS NULL OR cause IN (SELECT value FROM json_each(:causes)))
        AND at >= :since
        AND at < :until
        AND (:reason IS NULL OR reason = :reason)
        AND (:job IS NULL OR job_id = :job)
        AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = :tag))
    LIMIT :limit
)
