-- job attempts: the executions of a job's tasks, those that run first, then the one that ended last.
SELECT
    member.key, member.task_id, ran.epoch, ran.attempt, ran.outcome, ran.session, ran.started_at, ran.finished_at,
    ran.error
FROM job_task AS member
CROSS JOIN attempt AS ran ON member.task_id = ran.task_id
WHERE member.job_id = :job AND ran.started_at IS NOT NULL
UNION ALL
SELECT member.key, member.task_id, live.epoch, live.attempt, live.state, live.session, live.started_at, NULL, NULL
FROM job_task AS member
CROSS JOIN task_live AS live ON member.task_id = live.id
WHERE member.job_id = :job AND live.state = 2
ORDER BY 8 DESC NULLS FIRST, 2 DESC, 3 DESC
LIMIT :limit
