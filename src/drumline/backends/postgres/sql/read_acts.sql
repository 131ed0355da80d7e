-- read events: the acts on tasks in some rows, with what is known of each task, of its execution, and of where it
-- stands now, where that can matter.
SELECT
    o.position, e.place - 1 AS place, o.at, e.task::text AS task, e.act, e.state, e.epoch,
    wide.lane, wide.options, wide.created_at, wide.due_at,
    past.attempt, past.session, past.started_at, past.finished_at, past.error,
    live.state AS live_state, live.epoch AS live_epoch, live.attempt AS live_attempt,
    live.session AS live_session, live.started_at AS live_started_at, live.due_at AS live_due_at
FROM drumline.outbox AS o
CROSS JOIN LATERAL
    unnest(o.tasks, o.acts, o.states, o.epochs) WITH ORDINALITY AS e (task, act, state, epoch, place)
LEFT JOIN LATERAL (
    SELECT task.lane, task.options, task.created_at, task.due_at FROM drumline.task WHERE task.id = e.task OFFSET 0
) AS wide ON true
LEFT JOIN LATERAL (
    SELECT attempt.attempt, attempt.session, attempt.started_at, attempt.finished_at, attempt.error
    FROM drumline.attempt
    WHERE attempt.task_id = e.task AND attempt.epoch = e.epoch AND e.epoch > 0
    OFFSET 0
) AS past ON true
LEFT JOIN LATERAL (
    SELECT task_live.state, task_live.epoch, task_live.attempt, task_live.session, task_live.started_at, task_live.due_at
    FROM drumline.task_live
    WHERE task_live.id = e.task AND (past.attempt IS NULL OR e.state = 1)
    OFFSET 0
) AS live ON true
WHERE o.position > :after::int8 AND o.position <= :until::int8
ORDER BY o.position, e.place
