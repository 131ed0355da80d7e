-- ripple: jobs that have ended, whose dependents may have to be told.
SELECT ripple.seq, ripple.job_id FROM drumline.job_ripple AS ripple
ORDER BY ripple.seq
LIMIT 100
