-- ripple: jobs that have ended, whose dependents may have to be told.
SELECT seq, job_id FROM job_ripple ORDER BY seq LIMIT 100
