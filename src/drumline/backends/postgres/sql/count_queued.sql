-- count queued: tasks of a tenant that wait to be run, no further than :most.
SELECT count(*)
FROM (
    SELECT live.id
    FROM drumline.task_live AS live
    WHERE
        live.lane = any(ARRAY(SELECT lane.id FROM drumline.lane WHERE lane.tenant = :tenant::text))
        AND live.due_at IS NOT NULL
        AND live.state = 1
    LIMIT :most::int8
) AS counted
