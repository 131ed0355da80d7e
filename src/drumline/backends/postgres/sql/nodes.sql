-- nodes: the tasks of a job as they stand, in the order in which they were given.
-- GIVES with each the keys that it needs, and the key of the task because of which it was skipped
SELECT
    member.key,
    member.task_id,
    wide.lane,
    coalesce(live.state, last.outcome) AS state,
    ARRAY(
        SELECT parent.key
        FROM drumline.task_edge AS edge
        CROSS JOIN LATERAL (
            SELECT p.key FROM drumline.job_task AS p WHERE p.task_id = edge.parent OFFSET 0
        ) AS parent
        WHERE edge.child = member.task_id
        ORDER BY edge.parent
    ) AS needs,
    member.run_if,
    CASE WHEN live.state IS NULL THEN wide.due_at ELSE live.due_at END AS due_at,
    coalesce(live.attempt, last.attempt) AS attempt,
    coalesce(nullif(live.started_at, 0), last.started_at) AS started_at,
    CASE WHEN live.state IS NULL THEN last.finished_at END AS finished_at,
    CASE WHEN live.state IS NULL THEN last.error END AS error,
    (SELECT by.key FROM drumline.job_task AS by WHERE by.task_id = member.cause) AS cause
FROM (
    SELECT m.task_id, m.key, m.run_if, m.cause FROM drumline.job_task AS m WHERE m.job_id = :job::uuid OFFSET 0
) AS member
CROSS JOIN LATERAL (
    SELECT task.lane, task.due_at FROM drumline.task WHERE task.id = member.task_id OFFSET 0
) AS wide
LEFT JOIN LATERAL (
    SELECT l.state, l.due_at, l.attempt, l.started_at FROM drumline.task_live AS l WHERE l.id = member.task_id OFFSET 0
) AS live ON true
LEFT JOIN LATERAL (
    SELECT a.outcome, a.attempt, a.started_at, a.finished_at, a.error
    FROM drumline.attempt AS a
    WHERE a.task_id = member.task_id
    ORDER BY a.epoch DESC
    LIMIT 1
) AS last ON true
ORDER BY member.task_id
