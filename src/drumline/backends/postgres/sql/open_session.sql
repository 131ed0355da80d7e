-- open a session: register a worker. Repeated, it changes nothing.
INSERT INTO drumline.session (id, spec, opened_at, beat_at)
SELECT :session::int8, :spec::text, clock.now, clock.now
FROM (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS clock
ON CONFLICT DO NOTHING
RETURNING id
