-- reschedule: change when queued tasks are due, and their lane. Their live rows are locked.
--   transition  queued -> queued
--   fence       epoch rises
WITH given AS MATERIALIZED (
    SELECT g.id, g.lane, g.due_at
    FROM unnest(:ids::uuid [], :lanes::int4 [], :due_at::int8 []) AS g (id, lane, due_at)
),

wide AS (
    UPDATE drumline.task SET lane = given.lane, due_at = given.due_at FROM given WHERE task.id = given.id
),

live AS (
    UPDATE drumline.task_live AS live
    SET lane = given.lane, due_at = given.due_at, epoch = live.epoch + 1
    FROM given
    WHERE live.id = given.id AND live.state = 1
    RETURNING live.id, live.epoch, live.state
)

INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
SELECT
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    array_agg(live.id), array_agg(:act::int2), array_agg(live.state), array_agg(live.epoch)
FROM live
HAVING count(*) > 0
