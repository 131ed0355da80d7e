-- name: pause_queue
-- pause a queue; pausing again changes the reason.
INSERT INTO queue_pause (tenant, queue, reason, paused_at) VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET reason = excluded.reason

-- name: resume_queue
-- resume a queue.
DELETE FROM queue_pause WHERE tenant = ? AND queue = ?

-- name: stands
-- cancel, reschedule, retry: where a task stands; no row if there is no such task.
SELECT
    view.tenant, view.queue, view.name, view.priority, view.state, view.epoch, view.attempt,
    live.nonce, live.session, live.started_at, view.due_at,
    EXISTS (SELECT 1 FROM job_task WHERE task_id = view.id) AS in_job
FROM task_view AS view
LEFT JOIN task_live AS live ON view.id = live.id
WHERE view.id = :id

-- name: request_cancel
-- cancel: ask a running task to stop; its worker is told at its next beat. Asked again, it changes nothing.
UPDATE task_live SET cancel_requested = 1 WHERE id = :id AND state = 2 AND NOT cancel_requested

-- name: reschedule_live
-- reschedule: change when a queued task is due, and its lane.
--   transition  queued -> queued
--   fence       epoch rises
UPDATE task_live SET due_at = :due_at, lane = :lane, epoch = epoch + 1 WHERE id = :id AND state = 1

-- name: reschedule_task
-- reschedule: what was asked for has changed.
UPDATE task SET due_at = :due_at, lane = :lane WHERE id = :id

-- name: keep_payload
-- retry: keep what a task was given up to an epoch.
INSERT INTO payload_edit (task_id, epoch, at, payload)
SELECT id, :epoch, :now, payload FROM task WHERE id = :id
RETURNING payload

-- name: edit_payload
-- retry: give a task another payload.
UPDATE task SET payload = :payload WHERE id = :id
