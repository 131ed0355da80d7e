-- prune: which of these jobs are still as they were when somebody looked.
--   :ids  JSON list
SELECT job.id FROM json_each(:ids) AS given
INNER JOIN job ON given.value = job.id
WHERE job.finished_at < :before AND NOT EXISTS (SELECT 1 FROM job_ripple WHERE job_ripple.job_id = job.id)
