-- cancel, ripple: lock the tasks of a job that have not ended. The job is locked.
SELECT
    live.id, live.state, live.lane, live.epoch, live.attempt, live.session, live.started_at,
    (SELECT member.pending FROM drumline.job_task AS member WHERE member.task_id = live.id) AS pending
FROM drumline.task_live AS live
WHERE live.id = any(ARRAY(SELECT m.task_id FROM drumline.job_task AS m WHERE m.job_id = :job::uuid))
ORDER BY live.id
FOR UPDATE OF live
