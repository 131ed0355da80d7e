-- stats: what happened since the beginning, by queue and name, whatever the tenant.
SELECT lane.queue, lane.name, stat.measure, stat.duration, sum(stat.count), sum(stat.total_ms)
FROM stat
INNER JOIN lane ON stat.lane = lane.id
WHERE stat.step = 0
GROUP BY lane.queue, lane.name, stat.measure, stat.duration
