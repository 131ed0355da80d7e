-- reap: lock running tasks that no open session holds.
-- GIVES tasks whose session died, and ghosts: tasks whose session closed in order without settling them, or is open
-- and has beaten twice since it was given them without naming them in its last beat
--   :in_job  whether they belong to jobs
--   :only    only these, whose jobs are locked; NULL means all
-- They are found first and locked afterwards, so that they are locked in order, and nothing else is.
WITH orphan AS MATERIALIZED (
    SELECT lost.id, s.id AS session, claim.nonce, NOT s.is_dead AS is_ghost
    FROM drumline.claim
    INNER JOIN drumline.session AS s
        ON claim.session = s.id AND (s.closed_at IS NOT NULL OR s.beat >= claim.beat + 2)
    CROSS JOIN LATERAL (
        SELECT l.id
        FROM drumline.task_live AS l
        WHERE
            l.id = any(claim.tasks)
            AND l.state = 2
            AND l.session = s.id
            AND l.nonce = claim.nonce
            AND (s.closed_at IS NOT NULL OR l.id <> all(s.held))
            AND l.in_job = :in_job::bool
            AND (:only::uuid [] IS NULL OR l.id = any(:only))
        OFFSET 0 -- no join: it would read the whole table, each second
    ) AS lost
    ORDER BY lost.id
    LIMIT :limit::int4
)

SELECT
    live.id, live.epoch, live.nonce, live.lane, live.due_at, live.attempt, live.failures, live.crashes,
    live.session, live.started_at, live.cancel_requested, orphan.is_ghost
FROM orphan
INNER JOIN drumline.task_live AS live
    ON
        orphan.id = live.id
        AND live.state = 2
        AND orphan.session = live.session
        AND orphan.nonce = live.nonce
ORDER BY live.id
FOR UPDATE OF live
