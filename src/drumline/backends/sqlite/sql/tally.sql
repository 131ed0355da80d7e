-- every act that ends tasks: count them in their jobs. A job whose tasks have all ended has ended itself: it failed if a
-- task did, or a job that it depends on; else it was cancelled if a task was; else it completed.
--   :batch  JSON list of [job, completed, failed, cancelled, skipped, started_at], each job once
UPDATE job
SET
    completed = job.completed + json_extract(given.value, '$[1]'),
    failed = job.failed + json_extract(given.value, '$[2]'),
    cancelled = job.cancelled + json_extract(given.value, '$[3]'),
    skipped = job.skipped + json_extract(given.value, '$[4]'),
    version = job.version + 1,
    started_at = coalesce(job.started_at, json_extract(given.value, '$[5]')),
    status = CASE
        WHEN job.status = 1 AND json_extract(given.value, '$[5]') IS NOT NULL THEN 2 ELSE job.status
    END
FROM json_each(:batch) AS given
WHERE job.id = json_extract(given.value, '$[0]')
