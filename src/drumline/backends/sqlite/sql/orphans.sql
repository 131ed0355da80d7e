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
