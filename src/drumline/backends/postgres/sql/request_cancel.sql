-- cancel: ask running tasks to stop; their workers are told at their next beat. Asked again, it changes nothing.
WITH asked AS (
    UPDATE drumline.task_live AS live
    SET cancel_requested = true
    WHERE live.id = any(:ids::uuid []) AND live.state = 2 AND NOT live.cancel_requested
    RETURNING live.id, live.epoch
)

INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
SELECT
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    array_agg(asked.id), array_agg(:act::int2), array_agg(2::int2), array_agg(asked.epoch)
FROM asked
HAVING count(*) > 0
