-- settle: lock the running tasks whose current lease is in a list, sorted by id.
--   fence   epoch and nonce both match
-- GIVES the time with each
SELECT
    live.id, live.epoch, live.nonce, live.lane, live.due_at, live.attempt, live.failures, live.crashes,
    live.session, live.started_at, live.cancel_requested,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
FROM unnest(:ids::uuid [], :epochs::int4 [], :nonces::int8 []) AS g (id, epoch, nonce)
INNER JOIN drumline.task_live AS live
    ON g.id = live.id AND g.epoch = live.epoch AND g.nonce = live.nonce AND live.state = 2
ORDER BY live.id
FOR UPDATE OF live
