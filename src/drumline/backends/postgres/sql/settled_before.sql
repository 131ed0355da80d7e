-- settle: what leases that are not current were settled as, if they were.
SELECT a.task_id, a.epoch, a.nonce, a.outcome
FROM unnest(:ids::uuid [], :epochs::int4 [], :nonces::int8 []) AS g (id, epoch, nonce)
INNER JOIN drumline.attempt AS a ON g.id = a.task_id AND g.epoch = a.epoch AND g.nonce = a.nonce
