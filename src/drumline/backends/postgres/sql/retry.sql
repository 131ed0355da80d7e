-- retry: queue ended tasks again. The tasks are locked, and have no live row.
--   transition  failed, cancelled, skipped -> queued
--   fence       epoch goes on from the last attempt's
WITH live AS (
    INSERT INTO drumline.task_live (id, lane, due_at, epoch, attempt)
    SELECT g.id, g.lane, :due_at::int8, g.epoch, g.attempt
    FROM unnest(:ids::uuid [], :lanes::int4 [], :epochs::int4 [], :attempts::int4 []) AS g (id, lane, epoch, attempt)
)

INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
SELECT
    :due_at,
    :ids,
    array_fill(:act::int2, ARRAY[cardinality(:ids)]),
    array_fill(1::int2, ARRAY[cardinality(:ids)]),
    :epochs
