-- prune: delete tasks that this transaction has locked, with all that belongs to them but their dead letters. One that
-- was retried before the lock was had is left alone; nobody can retry it now.
-- GIVES how many were deleted, and which of them may have a dead letter: those that something went wrong with
WITH gone AS (
    DELETE FROM drumline.task
    WHERE
        task.id = any(:ids::uuid [])
        AND NOT EXISTS (SELECT FROM drumline.task_live AS live WHERE live.id = task.id OFFSET 0)
    RETURNING task.id, task.idempotency_key
),

list AS MATERIALIZED (
    SELECT array_agg(gone.id ORDER BY gone.id) AS ids FROM gone
),

histories AS (
    DELETE FROM drumline.attempt WHERE attempt.task_id = any((SELECT list.ids FROM list)::uuid [])
    RETURNING attempt.task_id, attempt.outcome
),

logs AS (
    DELETE FROM drumline.task_log WHERE task_log.task_id = any((SELECT list.ids FROM list)::uuid [])
),

edits AS (
    DELETE FROM drumline.payload_edit WHERE payload_edit.task_id = any((SELECT list.ids FROM list)::uuid [])
),

progresses AS (
    DELETE FROM drumline.progress WHERE progress.task_id = any((SELECT list.ids FROM list)::uuid [])
),

files AS (
    DELETE FROM drumline.artifact WHERE artifact.task_id = any((SELECT list.ids FROM list)::uuid [])
),

keys AS (
    DELETE FROM drumline.idempotency AS i
    WHERE
        i.key = any(ARRAY(SELECT gone.idempotency_key FROM gone WHERE gone.idempotency_key IS NOT NULL))
        -- another tenant's may read the same
        AND (SELECT list.ids FROM list)[width_bucket(i.task_id, (SELECT list.ids FROM list))] = i.task_id
)

SELECT
    (SELECT count(*) FROM gone) AS count,
    ARRAY(SELECT DISTINCT h.task_id FROM histories AS h WHERE h.outcome <> 3) AS unhappy
