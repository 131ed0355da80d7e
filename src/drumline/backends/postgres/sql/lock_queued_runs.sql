-- start runs: lock schedules that have runs waiting for the one before them, if that has ended. Whether it has, and which
-- run is next, is looked at again by queued_runs.sql, once they are locked: beside the row that it locks, a statement
-- may see what was before another scheduler started a run.
-- GIVES one row: the time, and the schedules
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

free AS MATERIALIZED (
    SELECT live.id
    FROM drumline.schedule_live AS live
    WHERE
        live.waiting > 0
        AND live.state <> 1
        -- OFFSET 0 keeps the planner from joining: on empty tables reading all jobs looks as good as a look by key.
        AND NOT EXISTS (SELECT FROM drumline.task_live WHERE task_live.id = live.last_task OFFSET 0)
        AND NOT EXISTS (
            SELECT FROM drumline.job WHERE job.id = live.last_job AND job.finished_at IS NULL OFFSET 0
        )
    ORDER BY live.id
    LIMIT :limit::int4
    FOR UPDATE OF live SKIP LOCKED
)

SELECT clock.now, ARRAY(SELECT free.id FROM free) AS ids FROM clock
