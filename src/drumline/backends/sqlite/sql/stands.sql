-- cancel, reschedule, retry: where a task stands; no row if there is no such task.
SELECT
    view.tenant, view.queue, view.name, view.priority, view.state, view.epoch, view.attempt,
    live.nonce, live.session, live.started_at, view.due_at,
    EXISTS (SELECT 1 FROM job_task WHERE task_id = view.id) AS in_job
FROM task_view AS view
LEFT JOIN task_live AS live ON view.id = live.id
WHERE view.id = :id
