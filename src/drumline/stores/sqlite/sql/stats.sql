-- name: stats_until
-- gather stats: everything up to this place is counted, unless somebody else was faster.
UPDATE event_cursor SET position = :until, moved_at = :now WHERE consumer = :consumer AND position = :after

-- name: add_stats
-- gather stats: add counts, given as a list of [step, at, lane, measure, duration, count, total_ms].
INSERT INTO stat (step, at, lane, measure, duration, count, total_ms)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6 FROM json_each(:batch)
WHERE true
ON CONFLICT (step, at, lane, measure, duration) DO UPDATE
SET count = count + excluded.count, total_ms = total_ms + excluded.total_ms

-- name: stats_span
-- gather stats: the last of the next rows of the log, and how many they are.
SELECT max(seq), count(*) FROM (SELECT seq FROM outbox WHERE seq > :after ORDER BY seq LIMIT :limit)

-- name: stat_acts
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
