-- claim: what a session took with a claim whose answer was lost; no rows if the session is closed.
SELECT 1 AS request, live.id, live.lane, live.due_at, live.epoch, live.attempt, wide.payload, wide.options
FROM drumline.claim
CROSS JOIN LATERAL unnest(claim.tasks) AS given (id)
CROSS JOIN LATERAL (
    SELECT l.id, l.lane, l.due_at, l.epoch, l.attempt
    FROM drumline.task_live AS l
    WHERE l.id = given.id AND l.state = 2 AND l.session = claim.session AND l.nonce = claim.nonce
    OFFSET 0
) AS live
CROSS JOIN LATERAL (
    SELECT
        -- A large one is read by itself, so that an answer has an end: large_payloads.sql.
        CASE WHEN octet_length(task.payload) <= 32768 THEN task.payload END AS payload, task.options
    FROM drumline.task WHERE task.id = given.id
    OFFSET 0
) AS wide
WHERE
    claim.session = :session::int8
    AND claim.nonce = :nonce::int8
    AND EXISTS (SELECT FROM drumline.session AS s WHERE s.id = :session AND s.closed_at IS NULL)
