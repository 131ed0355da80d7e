-- get: how many tasks of jobs are running.
SELECT member.job_id, count(*) AS running
FROM (SELECT m.job_id, m.task_id FROM drumline.job_task AS m WHERE m.job_id = any(:ids::uuid []) OFFSET 0) AS member
CROSS JOIN LATERAL (
    SELECT l.id FROM drumline.task_live AS l WHERE l.id = member.task_id AND l.state = 2 OFFSET 0
) AS live
GROUP BY member.job_id
