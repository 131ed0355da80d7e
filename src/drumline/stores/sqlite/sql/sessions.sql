-- name: reap_session
-- reap: close a session as dead, if its beat number is still the one observed.
UPDATE session SET closed_at = :now, is_dead = 1 WHERE id = :session AND closed_at IS NULL AND beat = :beat
RETURNING spec

-- name: beat
-- beat: note a sign of life. No row changes if the session is closed.
--   :again  whether it may have been sent before the answer to the one before: it does not count against claims
UPDATE session
SET
    beat = beat + 1, last_beat_at = CASE WHEN :again THEN last_beat_at ELSE beat_at END, beat_at = :now,
    held = :held, memory = :memory, cpu = :cpu
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
    live.cancel_requested, live.in_job OR live.family > 0 AS in_job, live.family
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
