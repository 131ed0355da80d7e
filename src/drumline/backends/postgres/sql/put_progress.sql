-- progress: note how far attempts are.
--   fence   epoch and nonce both match
--   :ids …  arrays of equal length, each task once, sorted by id
INSERT INTO drumline.progress AS p (task_id, epoch, at, done, total, message)
SELECT
    live.id, live.epoch, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    g.done, g.total, g.message
FROM
    unnest(
        :ids::uuid [], :epochs::int4 [], :nonces::int8 [], :done::float8 [], :total::float8 [], :messages::text []
    ) AS g (id, epoch, nonce, done, total, message)
CROSS JOIN LATERAL (
    SELECT l.id, l.epoch
    FROM drumline.task_live AS l
    WHERE l.id = g.id AND l.state = 2 AND l.epoch = g.epoch AND l.nonce = g.nonce
    OFFSET 0
) AS live
ON CONFLICT (task_id) DO UPDATE
SET epoch = excluded.epoch, at = excluded.at, done = excluded.done, total = excluded.total, message = excluded.message
