-- submit, reschedule: the numbers of lanes.
SELECT lane.id, lane.tenant, lane.queue, lane.name, lane.priority
FROM unnest(:tenants::text [], :queues::text [], :names::text [], :priorities::int2 []) AS g (tenant, queue, name, priority)
INNER JOIN drumline.lane
    ON g.name = lane.name AND g.queue = lane.queue AND g.tenant = lane.tenant AND g.priority = lane.priority
