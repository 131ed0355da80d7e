-- results: what tasks of jobs gave back.
--   :jobs, :keys  arrays of equal length
-- GIVES the results of those that have completed
SELECT g.job, g.key, last.result
FROM unnest(:jobs::uuid [], :keys::text []) AS g (job, key)
CROSS JOIN LATERAL (
    SELECT m.task_id FROM drumline.job_task AS m WHERE m.job_id = g.job AND m.key = g.key OFFSET 0
) AS member
CROSS JOIN LATERAL (
    SELECT a.outcome, a.result
    FROM drumline.attempt AS a
    WHERE a.task_id = member.task_id
    ORDER BY a.epoch DESC
    LIMIT 1
) AS last
WHERE
    last.outcome = 3
    AND (SELECT l.id FROM drumline.task_live AS l WHERE l.id = member.task_id) IS NULL
