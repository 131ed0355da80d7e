-- resume: all tasks of a job as they stand. The job is locked.
-- GIVES with each the tasks that it needs
SELECT
    member.task_id, member.key, coalesce(live.state, last.outcome) AS state, member.run_if, member.cause,
    coalesce(live.epoch, last.epoch) AS epoch, coalesce(live.attempt, last.attempt) AS attempt, wide.lane,
    ARRAY(SELECT edge.parent FROM drumline.task_edge AS edge WHERE edge.child = member.task_id) AS parents
FROM (
    SELECT m.task_id, m.key, m.run_if, m.cause FROM drumline.job_task AS m WHERE m.job_id = :job::uuid OFFSET 0
) AS member
CROSS JOIN LATERAL (
    SELECT task.lane FROM drumline.task WHERE task.id = member.task_id OFFSET 0
) AS wide
LEFT JOIN LATERAL (
    SELECT l.state, l.epoch, l.attempt FROM drumline.task_live AS l WHERE l.id = member.task_id OFFSET 0
) AS live ON true
LEFT JOIN LATERAL (
    SELECT a.outcome, a.epoch, a.attempt
    FROM drumline.attempt AS a
    WHERE a.task_id = member.task_id
    ORDER BY a.epoch DESC
    LIMIT 1
) AS last ON true
ORDER BY member.task_id
