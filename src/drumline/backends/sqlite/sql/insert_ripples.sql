-- every act that ends jobs: those who wait for them have to be told.
--   :ids  JSON list
INSERT INTO job_ripple (job_id)
SELECT given.value FROM json_each(:ids) AS given
WHERE EXISTS (SELECT 1 FROM job_dep WHERE job_dep.needs_job = given.value AND NOT job_dep.is_done)
