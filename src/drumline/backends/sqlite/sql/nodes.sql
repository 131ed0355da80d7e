-- nodes: the tasks of a job as they stand, in the order in which they were given.
-- GIVES one JSON list of [key, task id, name, state, [keys that it needs], run_if, due_at, attempt, started_at,
-- finished_at, error, the key of the task because of which it was skipped]
SELECT json_group_array(json_array(
    key, task_id, name, state, json(needs), run_if, due_at, attempt, started_at, finished_at, error, cause
))
FROM (
    SELECT
        member.key, member.task_id, view.name, view.state, member.run_if, view.due_at, view.attempt, view.started_at,
        view.finished_at,
        CASE WHEN view.finished_at IS NOT NULL THEN view.error END AS error,
        (SELECT by.key FROM job_task AS by WHERE by.task_id = member.cause) AS cause,
        (
            SELECT json_group_array(parent.key)
            FROM task_edge AS edge
            CROSS JOIN job_task AS parent ON edge.parent = parent.task_id
            WHERE edge.child = member.task_id
        ) AS needs
    FROM job_task AS member
    CROSS JOIN task_view AS view ON member.task_id = view.id
    WHERE member.job_id = :job
    ORDER BY member.task_id
)
