-- name: insert_facts
-- tell facts: write changes of anything but tasks into the outbox.
INSERT INTO outbox (at, events, facts) VALUES (:now, '[]', :facts)

-- name: prune_events
-- prune events: drop rows that every consumer has passed on, those written before a time and all but the last :most.
-- Only the first :limit are looked at: they were written in the order of time.
DELETE FROM outbox
WHERE
    seq IN (SELECT seq FROM outbox ORDER BY seq LIMIT :limit)
    AND seq <= coalesce((SELECT min(position) FROM event_cursor), seq)
    AND (at < :before OR seq <= (SELECT seq FROM sqlite_sequence WHERE name = 'outbox') - :most)
RETURNING seq

-- name: read_outbox
-- read events: the rows behind a position.
SELECT seq, at, events, facts FROM outbox WHERE seq > :after ORDER BY seq LIMIT :limit

-- name: known_tasks
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

-- name: last_chunks
-- read events: the last pieces that an attempt logged, the last one first.
SELECT text FROM task_log WHERE task_id = :id AND epoch = :epoch ORDER BY seq DESC LIMIT :limit

-- name: ends_in_job
-- notify: tasks of a job whose last execution ended in a given way, for messages about the job.
--   :newest  1: the one that ended last comes first; 0: the one that ended first
SELECT member.key, member.task_id, lane.name, last.epoch, last.error
FROM job_task AS member
CROSS JOIN attempt AS last ON member.task_id = last.task_id
CROSS JOIN task ON member.task_id = task.id
CROSS JOIN lane ON task.lane = lane.id
WHERE
    member.job_id = :job
    AND last.outcome = :outcome
    AND last.epoch = (SELECT max(a.epoch) FROM attempt AS a WHERE a.task_id = member.task_id)
ORDER BY CASE WHEN :newest THEN -last.finished_at ELSE last.finished_at END, member.task_id
LIMIT :limit

-- name: pick_rows
-- pick events: the rows behind a position; their acts only if somebody may want to be told of one, and if one of them
-- can have ended a task.
SELECT
    seq,
    at,
    CASE
        WHEN
            :looks AND (
                instr(events, '"complete"') OR instr(events, '"fail"') OR instr(events, '"stop"')
                OR instr(events, 'cancel"') OR instr(events, '"skip"')
            )
            THEN events
        ELSE '[]'
    END AS events,
    facts
FROM outbox
WHERE seq > :after AND seq <= :until
ORDER BY seq
LIMIT :limit

-- name: in_lanes
-- pick events: which of these tasks are in a lane that somebody is interested in.
--   :ids    JSON list
--   :lanes  JSON list of [tenant, queue, name]; a queue or name that is null does not narrow
SELECT task.id
FROM json_each(:ids) AS given
CROSS JOIN task
INNER JOIN lane ON task.lane = lane.id
WHERE
    task.id = given.value
    AND EXISTS (
        SELECT 1 FROM json_each(:lanes) AS wanted
        WHERE
            lane.tenant = json_extract(wanted.value, '$[0]')
            AND lane.queue = coalesce(json_extract(wanted.value, '$[1]'), lane.queue)
            AND lane.name = coalesce(json_extract(wanted.value, '$[2]'), lane.name)
    )

-- name: with_targets
-- pick events: which of these tasks name targets themselves.
--   :ids  JSON list
SELECT task.id
FROM json_each(:ids) AS given
CROSS JOIN task INDEXED BY task_with_targets
WHERE task.id = given.value AND instr(task.options, '"notify"') > 0
