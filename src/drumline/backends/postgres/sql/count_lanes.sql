-- queues: what waits and runs in lanes.
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
)

SELECT
    live.lane,
    count(*) FILTER (WHERE live.state = 0 OR (live.state = 1 AND live.due_at > (SELECT clock.now FROM clock))) AS pending,
    count(*) FILTER (WHERE live.state = 1 AND live.due_at <= (SELECT clock.now FROM clock)) AS queued,
    count(*) FILTER (WHERE live.state = 2) AS processing,
    min(live.due_at) FILTER (WHERE live.state = 1 AND live.due_at <= (SELECT clock.now FROM clock)) AS oldest_due_at
FROM drumline.task_live AS live
WHERE live.lane = any(:lanes::int4 [])
GROUP BY live.lane
