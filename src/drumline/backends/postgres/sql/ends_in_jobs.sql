-- notify: tasks of jobs whose last execution ended in a given way, for messages about the jobs.
--   :newest  true: the one that ended last comes first; false: the one that ended first
-- GIVES the place of the job, and its tasks in that order
SELECT given.place, found.key, found.task, found.lane, found.epoch, found.error
FROM unnest(:jobs::uuid []) WITH ORDINALITY AS given (job, place)
CROSS JOIN LATERAL (
    SELECT
        member.key, member.task_id::text AS task, wide.lane, last.epoch, last.error,
        CASE WHEN :newest::bool THEN -last.finished_at ELSE last.finished_at END AS rank
    FROM (
        SELECT m.task_id, m.key FROM drumline.job_task AS m WHERE m.job_id = given.job OFFSET 0
    ) AS member
    CROSS JOIN LATERAL (
        SELECT a.epoch, a.outcome, a.finished_at, a.error
        FROM drumline.attempt AS a
        WHERE a.task_id = member.task_id
        ORDER BY a.epoch DESC
        LIMIT 1
    ) AS last
    CROSS JOIN LATERAL (
        SELECT task.lane FROM drumline.task WHERE task.id = member.task_id OFFSET 0
    ) AS wide
    WHERE last.outcome = :outcome::int2
    ORDER BY rank, member.task_id
    LIMIT :limit::int4
) AS found
ORDER BY given.place, found.rank, found.task
