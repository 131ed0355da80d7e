-- standing: where the tasks of current leases stand.
SELECT live.id, live.epoch, live.nonce, live.failures, task.options
FROM unnest(:ids::uuid [], :epochs::int4 [], :nonces::int8 []) AS g (id, epoch, nonce)
INNER JOIN drumline.task_live AS live
    ON g.id = live.id AND g.epoch = live.epoch AND g.nonce = live.nonce AND live.state = 2
INNER JOIN drumline.task ON live.id = task.id
