-- submit, reschedule: give lanes a number. Sorted, so that no two callers wait for each other.
INSERT INTO drumline.lane (tenant, queue, name, priority)
SELECT g.tenant, g.queue, g.name, g.priority
FROM unnest(:tenants::text [], :queues::text [], :names::text [], :priorities::int2 []) AS g (tenant, queue, name, priority)
ON CONFLICT DO NOTHING
