-- get: how many tasks of a job are running.
SELECT count(*) FROM job_task AS member
CROSS JOIN task_live AS live ON member.task_id = live.id
WHERE member.job_id = :job AND live.state = 2
