-- ripple: jobs that wait for another.
SELECT job_id FROM job_dep WHERE needs_job = :needed AND NOT is_done ORDER BY job_id LIMIT :limit
