-- prune marks: those that have lasted.
DELETE FROM sign_in_mark WHERE until <= :now
