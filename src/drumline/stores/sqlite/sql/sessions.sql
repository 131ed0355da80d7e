-- name: hold_back
-- resume: tasks that wait to be claimed have to wait for others again.
--   transition  queued -> blocked
--   fence       epoch rises
--   :ids        JSON list; those that were claimed meanwhile are left alone
-- GIVES those that wait for others now
UPDATE task_live SET state = 0, due_at = NULL, epoch = epoch + 1
WHERE id IN (SELECT value FROM json_each(:ids)) AND state = 1
RETURNING id, epoch

-- name: unended_parents
-- settle, reap: which of these tasks need tasks that have not ended, because those run again.
--   :ids  JSON list
-- GIVES with each how many of what it needs have not ended, and how many ended badly; nothing for the others
SELECT
    edge.child,
    count(live.id) AS pending,
    count(CASE WHEN live.id IS NULL AND (last.outcome IN (4, 5) OR (last.outcome = 6 AND member.cause IS NOT NULL)) THEN 1 END)
        AS bad
FROM json_each(:ids) AS given
CROSS JOIN task_edge AS edge ON given.value = edge.child
CROSS JOIN job_task AS member ON edge.parent = member.task_id
LEFT JOIN task_live AS live ON edge.parent = live.id
LEFT JOIN attempt AS last
    ON
        edge.parent = last.task_id
        AND last.epoch = (SELECT max(epoch) FROM attempt WHERE task_id = edge.parent)
GROUP BY edge.child
HAVING count(live.id) > 0
ORDER BY edge.child

-- name: count_parents
-- every act that ends tasks or brings them back: what blocked tasks still wait for.
--   :batch  JSON list of [task id, pending, bad]
UPDATE job_task
SET
    pending = json_extract(given.value, '$[1]'),
    bad = json_extract(given.value, '$[2]'),
    cause = NULL
FROM json_each(:batch) AS given
WHERE job_task.task_id = json_extract(given.value, '$[0]')

-- name: open_session
-- open a session: register a worker.
INSERT INTO session (id, spec, opened_at, beat_at, last_beat_at) VALUES (?, ?, ?, ?, ?)

-- name: change_session
-- change a session: what it serves from now on.
UPDATE session SET spec = json_set(spec, '$.queues', json(:queues), '$.capacity', :capacity)
WHERE id = :session AND closed_at IS NULL

-- name: pause_in_session
-- pause in a session: the task names that it is not handed.
UPDATE session SET spec = json_set(spec, '$.paused', json(:names))
WHERE id = :session AND closed_at IS NULL

-- name: sessions
-- sessions: the open ones; with :closed those that closed since that time too.
SELECT
    session.id, spec, opened_at, beat_at, beat, should_drain, closed_at,
    (SELECT count(*) FROM task_live WHERE state = 2 AND task_live.session = session.id)
FROM session
WHERE closed_at IS NULL OR (:closed_since IS NOT NULL AND closed_at >= :closed_since)
ORDER BY opened_at, session.id

-- name: session_specs
-- claim: what open sessions can run.
SELECT session.id, session.spec
FROM json_each(:sessions) AS given
INNER JOIN session ON given.value = session.id
WHERE session.closed_at IS NULL

-- name: beat_numbers
-- reap: how often each open session has beaten.
SELECT id, beat FROM session WHERE closed_at IS NULL

-- name: drain_session
-- drain a session: it is given no more tasks, and told so at its next beat.
UPDATE session SET should_drain = 1 WHERE id = :session AND closed_at IS NULL
RETURNING spec

-- name: close_session
-- close a session: in order (:beat NULL), or as dead if its beat number is still the one observed.
UPDATE session SET closed_at = :now, is_dead = :beat IS NOT NULL
WHERE id = :session AND closed_at IS NULL AND (:beat IS NULL OR beat = :beat)
RETURNING spec

-- name: beat
-- beat: note a sign of life. No row changes if the session is closed.
UPDATE session
SET beat = beat + 1, last_beat_at = beat_at, beat_at = :now, held = :held
WHERE id = :session AND closed_at IS NULL

-- name: session_drains
-- beat: whether the session was asked to drain.
SELECT should_drain FROM session WHERE id = :session

-- name: orphans
-- reap: running tasks that no open session holds.
-- GIVES rows of tasks whose session died (ghost 0), whose session closed in order without settling them (ghost 1), or
-- whose session has beaten twice since it was given them and did not list them in its last beat (ghost 1); what follows
-- the ghost is as in held_by_leases
SELECT
    live.id, live.epoch, live.nonce, NOT session.is_dead AS ghost,
    live.lane, live.attempt, live.failures, live.crashes, live.session, live.started_at, live.due_at,
    live.cancel_requested, live.in_job
FROM task_live AS live
INNER JOIN session ON live.session = session.id
WHERE
    live.state = 2
    AND (
        session.closed_at IS NOT NULL
        OR (
            session.beat >= 2
            AND live.started_at < session.last_beat_at
            -- Not "in this session's list", which would read the whole list again for each task in it.
            AND (live.session, live.id) NOT IN (
                SELECT beaten.id, listed.value
                FROM session AS beaten, json_each(beaten.held) AS listed
                WHERE beaten.closed_at IS NULL
            )
        )
    )
ORDER BY live.id
