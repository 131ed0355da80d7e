-- reschedule: change when queued tasks are due, and their lane. Their live rows are locked.
--   transition  queued -> queued
--   fence       epoch rises
--   :ids …      arrays of equal length, sorted by id, each once
WITH wide AS (
    UPDATE drumline.task
    SET
        lane = (:lanes::int4 [])[width_bucket(task.id, :ids::uuid [])],
        due_at = (:due_at::int8 [])[width_bucket(task.id, :ids)]
    WHERE task.id = any(:ids)
),

live AS (
    UPDATE drumline.task_live AS live
    SET
        lane = (:lanes)[width_bucket(live.id, :ids)],
        due_at = (:due_at)[width_bucket(live.id, :ids)],
        epoch = live.epoch + 1
    WHERE live.id = any(:ids) AND live.state = 1
    RETURNING live.id, live.epoch, live.state
)

INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
SELECT
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    array_agg(live.id), array_agg(:act::int2), array_agg(live.state), array_agg(live.epoch)
FROM live
HAVING count(*) > 0
