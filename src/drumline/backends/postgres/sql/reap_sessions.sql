-- reap: close the sessions whose beat number is still the one observed.
UPDATE drumline.session AS s
SET closed_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8), is_dead = true
FROM unnest(:sessions::int8 [], :beats::int4 []) AS g (session, beat)
WHERE s.id = g.session AND s.beat = g.beat AND s.closed_at IS NULL
RETURNING s.id, s.spec
