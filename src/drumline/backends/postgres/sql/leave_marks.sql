-- leave marks: of those that were there, only the time changes; tells of each whether it is new.
--   :names, :lasts  lists of equal length, in the order of names, as by every server
WITH clock AS (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
)

INSERT INTO drumline.sign_in_mark AS m (name, left_at, until)
SELECT given.name, clock.now, clock.now + given.lasts
FROM unnest(:names::text [], :lasts::int8 []) AS given (name, lasts), clock
ON CONFLICT (name) DO UPDATE SET
    left_at = greatest(m.left_at, excluded.left_at), until = greatest(m.until, excluded.until)
RETURNING m.name, xmax = 0 AS is_new
