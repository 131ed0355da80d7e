-- set a limit: what runs in lanes now.
SELECT live.id, live.epoch, live.started_at, wide.payload, wide.options
FROM drumline.claim
CROSS JOIN LATERAL unnest(claim.tasks) AS given (id)
CROSS JOIN LATERAL (
    SELECT l.id, l.epoch, l.started_at
    FROM drumline.task_live AS l
    WHERE
        l.id = given.id AND l.state = 2 AND l.session = claim.session AND l.nonce = claim.nonce
        AND l.lane = any(:lanes::int4 [])
    OFFSET 0
) AS live
CROSS JOIN LATERAL (
    SELECT task.payload, task.options FROM drumline.task WHERE task.id = given.id OFFSET 0
) AS wide
