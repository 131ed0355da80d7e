-- claim: what a session took with a claim whose answer was lost; no rows if the session is closed.
SELECT live.id, live.lane, live.due_at, live.epoch, live.attempt, task.payload, task.options
FROM drumline.claim
INNER JOIN drumline.session AS s ON claim.session = s.id AND s.closed_at IS NULL
CROSS JOIN LATERAL unnest(claim.tasks) AS given (id)
INNER JOIN drumline.task_live AS live ON given.id = live.id
INNER JOIN drumline.task ON live.id = task.id
WHERE
    claim.session = :session::int8
    AND claim.nonce = :nonce::int8
    AND live.state = 2
    AND live.session = claim.session
    AND live.nonce = claim.nonce
