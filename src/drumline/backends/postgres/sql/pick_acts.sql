-- pick events: the ends of tasks in some rows that somebody may want to be told of, as read_acts.sql gives them.
--   :looked  states that are looked at
--   :broad   those of them that are wanted of every task
--   :narrow  those that are wanted of tasks in :lanes; of all others only tasks that name targets themselves
SELECT
    o.position, e.place - 1 AS place, o.at, e.task::text AS task, e.act, e.state, e.epoch,
    wide.lane, wide.options, wide.created_at, wide.due_at,
    past.attempt, past.session, past.started_at, past.finished_at, past.error,
    NULL::int2 AS live_state, NULL::int4 AS live_epoch, NULL::int4 AS live_attempt,
    NULL::int8 AS live_session, NULL::int8 AS live_started_at, NULL::int8 AS live_due_at
FROM drumline.outbox AS o
CROSS JOIN LATERAL
    unnest(o.tasks, o.acts, o.states, o.epochs) WITH ORDINALITY AS e (task, act, state, epoch, place)
LEFT JOIN LATERAL (
    SELECT task.lane, task.options, task.created_at, task.due_at FROM drumline.task WHERE task.id = e.task OFFSET 0
) AS wide ON true
LEFT JOIN LATERAL (
    SELECT attempt.attempt, attempt.session, attempt.started_at, attempt.finished_at, attempt.error
    FROM drumline.attempt
    WHERE attempt.task_id = e.task AND attempt.epoch = e.epoch
    OFFSET 0
) AS past ON true
WHERE
    o.position = any(:positions::int8 [])
    AND e.state = any(:looked::int2 [])
    AND (
        e.state = any(:broad::int2 [])
        OR (
            e.state = any(:narrow::int2 [])
            AND (SELECT task.lane FROM drumline.task WHERE task.id = e.task) = any(:lanes::int4 [])
        )
        OR EXISTS (SELECT FROM drumline.task WHERE task.id = e.task AND task.options LIKE '%"notify"%' OFFSET 0)
    )
ORDER BY o.position, e.place
