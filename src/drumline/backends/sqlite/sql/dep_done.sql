-- ripple: a job does not wait for another any more, because that one has ended.
UPDATE job_dep SET is_done = 1 WHERE job_id = :job AND needs_job = :needed AND NOT is_done
