-- submit: the tasks of jobs by key, in the order in which they were given.
SELECT member.job_id, member.key, member.task_id
FROM (
    SELECT m.job_id, m.key, m.task_id FROM drumline.job_task AS m WHERE m.job_id = any(:ids::uuid []) OFFSET 0
) AS member
ORDER BY member.task_id
