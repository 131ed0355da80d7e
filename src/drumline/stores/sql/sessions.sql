-- name: open_session (postgres)
-- open a session: register a worker. Repeated, it changes nothing.
INSERT INTO drumline.session (id, spec, opened_at, beat_at)
SELECT :session::int8, :spec::text, clock.now, clock.now
FROM (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS clock
ON CONFLICT DO NOTHING
RETURNING id

-- name: open_session (sqlite)
INSERT INTO session (id, spec, opened_at, beat_at, last_beat_at) VALUES (:session, :spec, :now, :now, :now)
ON CONFLICT DO NOTHING
RETURNING id

-- name: ensure_session (postgres)
-- ensure a session: register it, or open it again if it was reaped. The beat number rises by two: a reaper that has
-- watched the old one sees a sign of life, and what was claimed before is released, since `held` does not list it.
INSERT INTO drumline.session AS s (id, spec, opened_at, beat_at)
SELECT :session::int8, :spec::text, clock.now, clock.now
FROM (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS clock
ON CONFLICT (id) DO UPDATE
SET
    closed_at = NULL, is_dead = false, spec = excluded.spec,
    beat = s.beat + 2, beat_at = excluded.beat_at, held = '{}'
WHERE s.is_dead
RETURNING s.id

-- name: ensure_session (sqlite)
INSERT INTO session (id, spec, opened_at, beat_at, last_beat_at) VALUES (:session, :spec, :now, :now, :now)
ON CONFLICT (id) DO UPDATE
SET
    closed_at = NULL, is_dead = 0, spec = excluded.spec,
    beat = session.beat + 2, beat_at = :now, last_beat_at = :now, held = '[]'
WHERE session.is_dead
RETURNING id

-- name: change_session (postgres)
-- change a session: what it serves from now on.
UPDATE drumline.session
SET spec = (spec::jsonb || jsonb_build_object('queues', :queues::text::jsonb, 'capacity', :capacity::int4))::text
WHERE id = :session::int8 AND closed_at IS NULL

-- name: change_session (sqlite)
-- change a session: what it serves from now on.
UPDATE session SET spec = json_set(spec, '$.queues', json(:queues), '$.capacity', :capacity)
WHERE id = :session AND closed_at IS NULL

-- name: pause_in_session (postgres)
-- pause in a session: the task names that it is not handed.
UPDATE drumline.session
SET spec = (spec::jsonb || jsonb_build_object('paused', :names::text::jsonb))::text
WHERE id = :session::int8 AND closed_at IS NULL

-- name: pause_in_session (sqlite)
-- pause in a session: the task names that it is not handed.
UPDATE session SET spec = json_set(spec, '$.paused', json(:names))
WHERE id = :session AND closed_at IS NULL

-- name: drain_session
-- drain a session: it is given no more tasks, and told so at its next beat.
UPDATE drumline.session SET should_drain = true WHERE id = :session::int8 AND closed_at IS NULL
RETURNING spec

-- name: undrain_session
-- undrain a session: it is given tasks again. One that was reaped may be opened again, and should not drain then.
UPDATE drumline.session SET should_drain = false
WHERE id = :session::int8 AND should_drain AND (closed_at IS NULL OR is_dead)
RETURNING spec

-- name: session_end
-- undrain or leave: whether a session is open; if it is not, whether it was reaped.
SELECT s.closed_at IS NULL AS is_open, s.is_dead FROM drumline.session AS s WHERE s.id = :session::int8

-- name: leave_session
-- leave: close a session that should drain.
UPDATE drumline.session
SET closed_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
WHERE id = :session::int8 AND closed_at IS NULL AND should_drain
RETURNING spec

-- name: close_session
-- close a session in order.
UPDATE drumline.session
SET closed_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
WHERE id = :session::int8 AND closed_at IS NULL
RETURNING spec

-- name: sessions (postgres)
-- sessions: the open ones; with :closed_since those that closed since that time too; with :only just that one.
SELECT
    s.id, s.spec, s.opened_at, s.beat_at, s.beat, s.should_drain, s.closed_at, s.memory, s.cpu,
    CASE WHEN s.closed_at IS NULL THEN cardinality(s.held) ELSE 0 END AS held
FROM drumline.session AS s
WHERE
    (s.closed_at IS NULL OR s.closed_at >= :closed_since::int8)
    AND (:only::int8 IS NULL OR s.id = :only)
ORDER BY s.opened_at, s.id

-- name: sessions (sqlite)
SELECT
    s.id, s.spec, s.opened_at, s.beat_at, s.beat, s.should_drain, s.closed_at, s.memory, s.cpu,
    (SELECT count(*) FROM task_live AS live WHERE live.state = 2 AND live.session = s.id) AS held
FROM session AS s
WHERE (s.closed_at IS NULL OR s.closed_at >= :closed_since) AND (:only IS NULL OR s.id = :only)
ORDER BY s.opened_at, s.id

-- name: session_specs
-- claim: what open sessions can run.
SELECT s.id, s.spec FROM drumline.session AS s WHERE s.id = any(:sessions::int8 []) AND s.closed_at IS NULL

-- name: beat_numbers
-- reap: how often each open session has beaten.
SELECT s.id, s.beat FROM drumline.session AS s WHERE s.closed_at IS NULL
