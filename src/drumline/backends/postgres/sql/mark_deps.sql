-- resume: which of the jobs that a job depends on keep it waiting; the others do not.
UPDATE drumline.job_dep SET is_done = needs_job <> all(:pending::uuid []) WHERE job_id = :job::uuid
