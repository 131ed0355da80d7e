-- submit, reschedule: the numbers of lanes.
SELECT lane.id, g.tenant, g.queue, g.name, g.priority
FROM unnest(:tenants::text [], :queues::text [], :names::text [], :priorities::int2 []) AS g (tenant, queue, name, priority)
CROSS JOIN LATERAL (
    SELECT l.id
    FROM drumline.lane AS l
    WHERE l.name = g.name AND l.queue = g.queue AND l.tenant = g.tenant AND l.priority = g.priority AND NOT l.is_keyed
    OFFSET 0
) AS lane
