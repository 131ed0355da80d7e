-- job attempts: the executions of a job's tasks, those that run first, then the one that ended last.
SELECT
    member.key, member.task_id, ran.epoch, ran.attempt, ran.outcome, ran.session, ran.started_at, ran.finished_at,
    ran.error
FROM (
    SELECT m.task_id, m.key FROM drumline.job_task AS m WHERE m.job_id = :job::uuid OFFSET 0
) AS member
CROSS JOIN LATERAL (
    SELECT a.epoch, a.attempt, a.outcome, a.session, a.started_at, a.finished_at, a.error
    FROM drumline.attempt AS a
    WHERE a.task_id = member.task_id AND a.started_at IS NOT NULL
    UNION ALL
    SELECT l.epoch, l.attempt, l.state, l.session, l.started_at, NULL, NULL
    FROM drumline.task_live AS l
    WHERE l.id = member.task_id AND l.state = 2
) AS ran
ORDER BY ran.finished_at DESC NULLS FIRST, member.task_id DESC, ran.epoch DESC
LIMIT :limit::int4
