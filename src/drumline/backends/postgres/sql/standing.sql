-- standing: where the tasks of current leases stand.
SELECT live.id, live.epoch, live.nonce, live.failures, live.cancel_requested, wide.options
FROM unnest(:ids::uuid [], :epochs::int4 [], :nonces::int8 []) AS g (id, epoch, nonce)
CROSS JOIN LATERAL (
    SELECT l.id, l.epoch, l.nonce, l.failures, l.cancel_requested
    FROM drumline.task_live AS l
    WHERE l.id = g.id AND l.epoch = g.epoch AND l.nonce = g.nonce AND l.state = 2
    OFFSET 0
) AS live
CROSS JOIN LATERAL (
    SELECT task.options FROM drumline.task WHERE task.id = g.id OFFSET 0
) AS wide
