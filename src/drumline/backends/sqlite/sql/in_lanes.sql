-- pick events: which of these tasks are in a lane that somebody is interested in.
--   :ids    JSON list
--   :lanes  JSON list of [tenant, queue, name]; a queue or name that is null does not narrow
SELECT task.id
FROM json_each(:ids) AS given
CROSS JOIN task
INNER JOIN lane ON task.lane = lane.id
WHERE
    task.id = given.value
    AND EXISTS (
        SELECT 1 FROM json_each(:lanes) AS wanted
        WHERE
            lane.tenant = json_extract(wanted.value, '$[0]')
            AND lane.queue = coalesce(json_extract(wanted.value, '$[1]'), lane.queue)
            AND lane.name = coalesce(json_extract(wanted.value, '$[2]'), lane.name)
    )
