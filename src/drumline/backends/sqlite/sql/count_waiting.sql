-- sample depth: how many tasks of each lane are due and wait, by the index alone.
-- GIVES a list of [lane, count]; lanes in which none waits are left out
SELECT json_group_array(json_array(lane, count))
FROM (
    SELECT lane.id AS lane, count(*) AS count
    FROM lane
    CROSS JOIN task_live AS live
    WHERE live.lane = lane.id AND live.state = 1 AND live.due_at <= :now
    GROUP BY lane.id
)
