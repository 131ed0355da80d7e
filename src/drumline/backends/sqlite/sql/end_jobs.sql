-- every act that ends tasks: end the jobs of which every task has ended.
--   :ids  JSON list; those that have ended already stay as they are
UPDATE job
SET
    status = CASE
        WHEN job.failed > 0 OR job.failed_by IS NOT NULL THEN 4
        WHEN job.cancelled > 0 THEN 5
        ELSE 3
    END,
    finished_at = :now
FROM json_each(:ids) AS given
WHERE
    job.id = given.value
    AND job.finished_at IS NULL
    AND job.completed + job.failed + job.cancelled + job.skipped = job.total
