-- resume, retry in a job: bring tasks back to life. Their job is locked, and they have no live row.
--   transition  failed, cancelled, skipped -> queued, blocked
--   fence       epoch goes on from the last attempt's
--   :ids …      arrays of equal length; those that are blocked are not due
WITH live AS (
    INSERT INTO drumline.task_live (id, lane, due_at, state, epoch, attempt, in_job)
    SELECT g.id, g.lane, CASE WHEN g.state = 1 THEN :due_at::int8 END, g.state, g.epoch, g.attempt, true
    FROM
        unnest(:ids::uuid [], :lanes::int4 [], :states::int2 [], :epochs::int4 [], :attempts::int4 [])
        AS g (id, lane, state, epoch, attempt)
)

INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
VALUES (:due_at, :ids, :acts::int2 [], :states, :epochs)
