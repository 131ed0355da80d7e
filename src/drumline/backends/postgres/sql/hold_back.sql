-- resume: tasks that wait to be claimed have to wait for others again. Their job is locked.
--   transition  queued -> blocked
--   fence       epoch rises
--   :ids        sorted; those that were claimed meanwhile are left alone
-- GIVES those that wait for others now, with their epochs
WITH held AS (
    UPDATE drumline.task_live AS live
    SET state = 0, due_at = NULL, epoch = live.epoch + 1
    WHERE live.id = any(:ids::uuid []) AND live.state = 1
    RETURNING live.id, live.epoch
),

told AS (
    INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
    SELECT
        coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
        array_agg(held.id), array_agg(:act::int2), array_agg(0::int2), array_agg(held.epoch)
    FROM held
    HAVING count(*) > 0
)

SELECT held.id::text, held.epoch FROM held
