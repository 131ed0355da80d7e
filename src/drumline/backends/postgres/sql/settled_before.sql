-- settle: what leases that are not current were settled as, if they were.
SELECT a.task_id, a.epoch, a.nonce, a.outcome
FROM unnest(:ids::uuid [], :epochs::int4 [], :nonces::int8 []) AS g (id, epoch, nonce)
CROSS JOIN LATERAL (
    SELECT attempt.task_id, attempt.epoch, attempt.nonce, attempt.outcome
    FROM drumline.attempt
    WHERE attempt.task_id = g.id AND attempt.epoch = g.epoch AND attempt.nonce = g.nonce
    OFFSET 0
) AS a
