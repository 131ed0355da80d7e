-- resume: all tasks of a job as they stand.
-- GIVES one JSON list of [id, key, state, run_if, cause, epoch, attempt, lane, [those that it needs]]
SELECT json_group_array(json_array(id, key, state, run_if, cause, epoch, attempt, lane, json(parents)))
FROM (
    SELECT
        member.task_id AS id,
        member.key,
        coalesce(live.state, last.outcome) AS state,
        member.run_if,
        member.cause,
        coalesce(live.epoch, last.epoch) AS epoch,
        coalesce(live.attempt, last.attempt) AS attempt,
        task.lane,
        (SELECT json_group_array(edge.parent) FROM task_edge AS edge WHERE edge.child = member.task_id) AS parents
    FROM job_task AS member
    CROSS JOIN task ON member.task_id = task.id
    LEFT JOIN task_live AS live ON member.task_id = live.id
    LEFT JOIN attempt AS last
        ON
            member.task_id = last.task_id
            AND last.epoch = (SELECT max(epoch) FROM attempt WHERE task_id = member.task_id)
    WHERE member.job_id = :job
    ORDER BY member.task_id
)
