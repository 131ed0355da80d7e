-- resume: which of the jobs that a job depends on keep it waiting.
--   :pending  JSON list; the others do not
UPDATE job_dep SET is_done = needs_job NOT IN (SELECT value FROM json_each(:pending)) WHERE job_id = :job
