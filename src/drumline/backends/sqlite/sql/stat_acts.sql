-- gather stats: what the rows of a stretch of the log say, with the times that durations are made of.
-- What leaves a task running (2) only asked it to stop: it is counted when it does.
-- GIVES a list of [at, act, lane, due_at, attempt, started_at, finished_at]
SELECT
    json_group_array(
        json_array(o.at, act.value ->> 1, task.lane, task.due_at, past.attempt, past.started_at, past.finished_at)
    )
FROM outbox AS o
INNER JOIN json_each(o.events) AS act
INNER JOIN task ON task.id = act.value ->> 0
LEFT JOIN attempt AS past
    ON act.value ->> 1 <> 'submit' AND past.task_id = task.id AND past.epoch = act.value ->> 3
WHERE
    o.seq > :after
    AND o.seq <= :until
    AND act.value ->> 1 IN (SELECT value FROM json_each(:acts))
    AND act.value ->> 2 <> 2
