-- reap: lock running tasks that no open session holds.
-- GIVES tasks whose session died, and ghosts: tasks whose session closed in order without settling them, or is open
-- and has beaten twice since it was given them without naming them in its last beat
SELECT
    live.id, live.epoch, live.nonce, live.lane, live.due_at, live.attempt, live.failures, live.crashes,
    live.session, live.started_at, live.cancel_requested, NOT s.is_dead AS is_ghost
FROM drumline.claim
INNER JOIN drumline.session AS s
    ON claim.session = s.id AND (s.closed_at IS NOT NULL OR s.beat >= claim.beat + 2)
CROSS JOIN LATERAL unnest(claim.tasks) AS given (id)
INNER JOIN drumline.task_live AS live
    ON
        given.id = live.id
        AND live.state = 2
        AND claim.session = live.session
        AND claim.nonce = live.nonce
WHERE s.closed_at IS NOT NULL OR given.id <> all(s.held)
ORDER BY live.id
LIMIT :limit::int4
FOR UPDATE OF live
