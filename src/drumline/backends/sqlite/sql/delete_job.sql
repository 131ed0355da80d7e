-- prune: a job whose tasks have gone.
DELETE FROM job WHERE id = :job
