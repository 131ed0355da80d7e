-- stats: what happened since the beginning, by queue and name, whatever the tenant.
SELECT lane.queue, lane.name, s.measure, s.duration, sum(s.count)::int8 AS count, sum(s.total_ms)::int8 AS total_ms
FROM drumline.stat AS s
INNER JOIN drumline.lane ON s.lane = lane.id
WHERE s.step = 0
GROUP BY lane.queue, lane.name, s.measure, s.duration
