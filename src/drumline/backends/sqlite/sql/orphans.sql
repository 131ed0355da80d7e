-- reap: running tasks that no open session holds.
-- GIVES rows of tasks whose session died (ghost 0), whose session closed in order without settling them (ghost 1), or
-- whose session has beaten twice since it was given them and did not list them in its last beat (ghost 1); what follows
-- the ghost is as in held_by_leases
SELECT
    live.id, live.epoch, live.nonce, NOT session.is_dead AS ghost,
    live.lane, live.attempt, live.failures, live.crashes, live.session, live.started_at, live.due_at,
    live.cancel_requested
FROM task_live AS live
INNER JOIN session ON live.session = session.id
WHERE
    live.state = 2
    AND (
        session.closed_at IS NOT NULL
        OR (
            session.beat >= 2
            AND live.started_at < session.last_beat_at
            AND live.id NOT IN (SELECT value FROM json_each(session.held))
        )
    )
ORDER BY live.id
