-- submit: which jobs a job waits for.
--   :batch  JSON list of [job, whether it has completed]
INSERT INTO job_dep (job_id, needs_job, is_done)
SELECT :job, json_extract(value, '$[0]'), json_extract(value, '$[1]')
FROM json_each(:batch)
