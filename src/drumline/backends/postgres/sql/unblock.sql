-- every act that ends tasks: let blocked tasks wait to be claimed. Their jobs are locked.
--   transition  blocked -> queued
--   :ids        sorted; a task's own delay counts from now, and it is not due before its run_at
-- GIVES one row: what waits now, as arrays
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

due AS MATERIALIZED (
    SELECT
        array_agg(m.task_id ORDER BY m.task_id) AS ids,
        array_agg(
            greatest((SELECT clock.now FROM clock) + m.delay_ms, coalesce(m.run_at, 0)) ORDER BY m.task_id
        ) AS due_at
    FROM drumline.job_task AS m
    WHERE m.task_id = any(:ids::uuid [])
),

released AS (
    UPDATE drumline.task_live AS live
    SET
        state = 1,
        due_at = (SELECT due.due_at FROM due)[width_bucket(live.id, (SELECT due.ids FROM due))]
    WHERE live.id = any(:ids) AND live.state = 0
    RETURNING live.id, live.lane, live.due_at, live.epoch
),

told AS (
    INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
    SELECT
        (SELECT clock.now FROM clock),
        array_agg(released.id),
        array_fill(:act::int2, ARRAY[count(*)::int4]),
        array_fill(1::int2, ARRAY[count(*)::int4]),
        array_agg(released.epoch)
    FROM released
    HAVING count(*) > 0
)

SELECT array_agg(released.id) AS ids, array_agg(released.lane) AS lanes, array_agg(released.due_at) AS due_at
FROM released
