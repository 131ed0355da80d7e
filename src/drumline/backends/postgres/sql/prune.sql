-- prune: delete tasks that this transaction has locked, with all that belongs to them. One that was retried before
-- the lock was had is left alone; nobody can retry it now.
-- GIVES how many were deleted
WITH gone AS (
    DELETE FROM drumline.task
    WHERE
        task.id = any(:ids::uuid [])
        AND NOT EXISTS (SELECT FROM drumline.task_live AS live WHERE live.id = task.id)
    RETURNING task.id, task.lane, task.idempotency_key
),

histories AS (
    DELETE FROM drumline.attempt WHERE attempt.task_id IN (SELECT gone.id FROM gone)
),

logs AS (
    DELETE FROM drumline.task_log WHERE task_log.task_id IN (SELECT gone.id FROM gone)
),

edits AS (
    DELETE FROM drumline.payload_edit WHERE payload_edit.task_id IN (SELECT gone.id FROM gone)
),

progresses AS (
    DELETE FROM drumline.progress WHERE progress.task_id IN (SELECT gone.id FROM gone)
),

files AS (
    DELETE FROM drumline.artifact WHERE artifact.task_id IN (SELECT gone.id FROM gone)
),

keys AS (
    DELETE FROM drumline.idempotency AS i
    USING gone, drumline.lane
    WHERE gone.lane = lane.id AND i.key = gone.idempotency_key AND i.tenant = lane.tenant
)

SELECT count(*) AS count FROM gone
