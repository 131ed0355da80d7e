-- settle: lock the running tasks whose current lease is in a list.
--   fence   epoch and nonce both match
--   :ids …  arrays of equal length, sorted by id, each once
--   :in_job whether they belong to jobs, which then are locked; the others are left alone
-- GIVES the time with each
SELECT
    live.id, live.epoch, live.nonce, live.lane, live.due_at, live.attempt, live.failures, live.crashes,
    live.session, live.started_at, live.cancel_requested,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
FROM drumline.task_live AS live
WHERE
    live.id = any(:ids::uuid [])
    AND live.state = 2
    AND live.epoch = (:epochs::int4 [])[width_bucket(live.id, :ids)]
    AND live.nonce = (:nonces::int8 [])[width_bucket(live.id, :ids)]
    AND live.in_job = :in_job::bool
ORDER BY live.id
FOR UPDATE
