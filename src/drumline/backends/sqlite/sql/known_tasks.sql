-- read events: what is known of tasks, of an execution of each, and of where it stands now.
--   :batch  JSON list of [task id, act, state after, epoch]
-- GIVES one JSON list of
--   [position in batch, tenant, queue, name, priority, options, created_at, due_at,
--    attempt, session, started_at, finished_at, error,
--    state, epoch, attempt, session, started_at, due_at]
SELECT json_group_array(json_array(
    given.key, lane.tenant, lane.queue, lane.name, lane.priority, task.options, task.created_at, task.due_at,
    past.attempt, past.session, past.started_at, past.finished_at, past.error,
    live.state, live.epoch, live.attempt, live.session, live.started_at, live.due_at
))
FROM json_each(:batch) AS given
INNER JOIN task ON json_extract(given.value, '$[0]') = task.id
INNER JOIN lane ON task.lane = lane.id
LEFT JOIN attempt AS past
    ON task.id = past.task_id AND json_extract(given.value, '$[3]') = past.epoch
LEFT JOIN task_live AS live ON task.id = live.id
