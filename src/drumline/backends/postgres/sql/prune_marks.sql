-- prune marks: those that have lasted.
DELETE FROM drumline.sign_in_mark
WHERE until <= coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
