-- notify: tasks of a job whose last execution ended in a given way, for messages about the job.
--   :newest  1: the one that ended last comes first; 0: the one that ended first
SELECT member.key, member.task_id, lane.name, last.epoch, last.error
FROM job_task AS member
CROSS JOIN attempt AS last ON member.task_id = last.task_id
CROSS JOIN task ON member.task_id = task.id
CROSS JOIN lane ON task.lane = lane.id
WHERE
    member.job_id = :job
    AND last.outcome = :outcome
    AND last.epoch = (SELECT max(a.epoch) FROM attempt AS a WHERE a.task_id = member.task_id)
ORDER BY CASE WHEN :newest THEN -last.finished_at ELSE last.finished_at END, member.task_id
LIMIT :limit
