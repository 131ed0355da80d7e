-- count queued: tasks of a tenant that wait to be run, no further than :most.
SELECT count(*)
FROM (
    SELECT 1
    FROM lane
    CROSS JOIN task_live AS live
    WHERE lane.tenant = :tenant AND live.lane = lane.id AND live.state = 1
    LIMIT :most
)
