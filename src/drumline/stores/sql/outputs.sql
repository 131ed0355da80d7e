-- name: append_log
-- log: keep pieces of logs; a piece that is there already is kept once.
INSERT INTO drumline.task_log (task_id, epoch, seq, text)
SELECT g.id, g.epoch, g.seq, g.text
FROM unnest(:ids::uuid [], :epochs::int4 [], :seqs::int4 [], :texts::text []) AS g (id, epoch, seq, text)
WHERE true
ON CONFLICT DO NOTHING

-- name: put_artifact
-- artifact: keep a file; a later one of the same name replaces it.
INSERT INTO drumline.artifact (task_id, name, content_type, created_at, data)
VALUES (:id::uuid, :name::text, :content_type::text, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8), :data::bytea)
ON CONFLICT (task_id, name) DO UPDATE
SET content_type = excluded.content_type, created_at = excluded.created_at, data = excluded.data

-- name: put_progress (postgres)
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

-- name: put_progress (sqlite)
INSERT INTO progress (task_id, epoch, at, done, total, message)
SELECT live.id, live.epoch, :now, g.done, g.total, g.message
FROM
    unnest(
        :ids::uuid [], :epochs::int4 [], :nonces::int8 [], :done::float8 [], :total::float8 [], :messages::text []
    ) AS g (id, epoch, nonce, done, total, message)
CROSS JOIN task_live AS live
WHERE live.id = g.id AND live.state = 2 AND live.epoch = g.epoch AND live.nonce = g.nonce
ON CONFLICT (task_id) DO UPDATE
SET epoch = excluded.epoch, at = excluded.at, done = excluded.done, total = excluded.total, message = excluded.message

-- name: progress
-- progress: how far the attempts are that run now.
SELECT p.task_id, p.done, p.total, p.message
FROM drumline.progress AS p
WHERE
    p.task_id = any(:ids::uuid [])
    AND p.epoch = (SELECT live.epoch FROM drumline.task_live AS live WHERE live.id = p.task_id AND live.state = 2)
    AND (
        :tenant::text IS NULL
        OR EXISTS (
            SELECT 1 FROM drumline.task INNER JOIN drumline.lane ON task.lane = lane.id
            WHERE task.id = p.task_id AND lane.tenant = :tenant
        )
    )

-- name: first_logs (postgres)
-- log: how the logs of tasks begin: up to :pieces rows of each, up to :longest characters of each row.
SELECT g.id, head.epoch, head.seq, left(head.text, :longest::int4) AS text
FROM unnest(:ids::uuid []) AS g (id)
CROSS JOIN LATERAL (
    SELECT l.epoch, l.seq, l.text FROM drumline.task_log AS l
    WHERE l.task_id = g.id
    ORDER BY l.epoch, l.seq
    LIMIT :pieces::int4
) AS head
WHERE
    :tenant::text IS NULL
    OR EXISTS (
        SELECT 1 FROM drumline.task INNER JOIN drumline.lane ON task.lane = lane.id
        WHERE task.id = g.id AND lane.tenant = :tenant
    )

-- name: first_logs (sqlite)
-- log: how the logs of tasks begin: up to :pieces rows of each, up to :longest characters of each row.
SELECT g.id, l.epoch, l.seq, substr(l.text, 1, :longest) AS text
FROM unnest(:ids::uuid []) AS g (id)
CROSS JOIN task_log AS l
WHERE
    l.task_id = g.id
    AND (l.epoch, l.seq) IN (
        SELECT head.epoch, head.seq FROM task_log AS head
        WHERE head.task_id = g.id
        ORDER BY head.epoch, head.seq
        LIMIT :pieces
    )
    AND (
        :tenant IS NULL
        OR EXISTS (
            SELECT 1 FROM task INNER JOIN lane ON task.lane = lane.id
            WHERE task.id = g.id AND lane.tenant = :tenant
        )
    )

-- name: log_from
-- log: how a log goes on: up to :pieces rows from (:epoch, :seq) on, up to :longest characters of each row.
--   :offset  characters of the first row that were read before
SELECT
    l.epoch, l.seq,
    substr(
        l.text,
        CASE WHEN l.epoch = :epoch::int4 AND l.seq = :seq::int4 THEN :offset::int4 + 1 ELSE 1 END,
        :longest::int4
    ) AS text
FROM drumline.task_log AS l
WHERE
    l.task_id = :id::uuid
    AND (l.epoch, l.seq) >= (:epoch, :seq)
    AND (
        :tenant::text IS NULL
        OR EXISTS (
            SELECT 1 FROM drumline.task INNER JOIN drumline.lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
ORDER BY l.epoch, l.seq
LIMIT :pieces::int4

-- name: artifacts
-- artifacts: what files a task made.
SELECT a.name, a.content_type, length(a.data) AS size, a.created_at
FROM drumline.artifact AS a
WHERE
    a.task_id = :id::uuid
    AND (
        :tenant::text IS NULL
        OR EXISTS (
            SELECT 1 FROM drumline.task INNER JOIN drumline.lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
ORDER BY a.name

-- name: artifact
-- artifact: one file.
SELECT a.content_type, a.data
FROM drumline.artifact AS a
WHERE
    a.task_id = :id::uuid
    AND a.name = :name::text
    AND (
        :tenant::text IS NULL
        OR EXISTS (
            SELECT 1 FROM drumline.task INNER JOIN drumline.lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
