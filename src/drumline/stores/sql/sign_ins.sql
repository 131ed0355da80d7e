-- name: prune_marks
-- prune marks: those that have lasted.
DELETE FROM drumline.sign_in_mark
WHERE until <= coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)

-- name: leave_marks
-- leave marks: the names of those that were not there come back.
--   :names, :lasts  lists of equal length, in the order of names, as by every server
INSERT INTO drumline.sign_in_mark (name, left_at, until)
SELECT given.name, clock.now, clock.now + given.lasts
FROM
    unnest(:names::text [], :lasts::int8 []) AS given (name, lasts),
    (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS clock
WHERE true
ON CONFLICT (name) DO NOTHING
RETURNING name

-- name: renew_marks
-- leave marks: of those that were there the time changes, and only forward.
UPDATE drumline.sign_in_mark AS m
SET left_at = greatest(m.left_at, clock.now), until = greatest(m.until, clock.now + given.lasts)
FROM
    unnest(:names::text [], :lasts::int8 []) AS given (name, lasts),
    (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS clock
WHERE m.name = given.name

-- name: find_marks
-- find marks: when each was left.
SELECT m.name, m.left_at
FROM drumline.sign_in_mark AS m
WHERE m.name = any(:names::text [])
