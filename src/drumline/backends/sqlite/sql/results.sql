-- results: what tasks of jobs gave back.
--   :batch  JSON list of [job, key]
-- GIVES the position in the batch and the result of those that have completed
SELECT given.key, last.result
FROM json_each(:batch) AS given
CROSS JOIN job_task AS member
    ON member.job_id = json_extract(given.value, '$[0]') AND member.key = json_extract(given.value, '$[1]')
CROSS JOIN attempt AS last
    ON
        member.task_id = last.task_id
        AND last.epoch = (SELECT max(epoch) FROM attempt WHERE task_id = member.task_id)
WHERE last.outcome = 3 AND NOT EXISTS (SELECT 1 FROM task_live WHERE id = member.task_id)
