-- submit: which jobs wait for which.
--   :jobs …  arrays of equal length
INSERT INTO drumline.job_dep (job_id, needs_job, is_done)
SELECT g.job, g.needed, g.is_done
FROM unnest(:jobs::uuid [], :needed::uuid [], :done::bool []) AS g (job, needed, is_done)
