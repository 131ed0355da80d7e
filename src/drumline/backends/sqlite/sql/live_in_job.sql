-- cancel, ripple: the tasks of a job that have not ended.
SELECT live.id, live.state, live.lane, live.epoch, live.attempt, live.session, live.started_at, member.pending
FROM job_task AS member
CROSS JOIN task_live AS live ON member.task_id = live.id
WHERE member.job_id = :job
ORDER BY live.id
