-- prune: what a job depended on. Those who depend on it have been told, and keep its id.
DELETE FROM job_dep WHERE job_id = :job
