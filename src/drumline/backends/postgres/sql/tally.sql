-- every act that ends tasks: count them in their jobs, which are locked. A job whose tasks have all ended has ended
-- itself: it failed if a task did, or a job that it depends on; else it was cancelled if a task was; else it completed.
-- Then those who wait for it have to be told.
--   :ids …  arrays of equal length, sorted by id, each once; :ended is the sum of the four before it
-- GIVES the jobs as they stand after it
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

job AS (
    UPDATE drumline.job AS j
    SET
        completed = j.completed + (:completed::int4 [])[width_bucket(j.id, :ids::uuid [])],
        failed = j.failed + (:failed::int4 [])[width_bucket(j.id, :ids)],
        cancelled = j.cancelled + (:cancelled::int4 [])[width_bucket(j.id, :ids)],
        skipped = j.skipped + (:skipped::int4 [])[width_bucket(j.id, :ids)],
        version = j.version + 1,
        started_at = coalesce(j.started_at, (:started_at::int8 [])[width_bucket(j.id, :ids)]),
        status = CASE
            WHEN
                j.completed + j.failed + j.cancelled + j.skipped
                + (:ended::int4 [])[width_bucket(j.id, :ids)] < j.total
                THEN
                    CASE
                        WHEN j.status = 1 AND (:started_at)[width_bucket(j.id, :ids)] IS NOT NULL THEN 2
                        ELSE j.status
                    END
            WHEN j.failed + (:failed)[width_bucket(j.id, :ids)] > 0 OR j.failed_by IS NOT NULL THEN 4
            WHEN j.cancelled + (:cancelled)[width_bucket(j.id, :ids)] > 0 THEN 5
            ELSE 3
        END,
        finished_at = CASE
            WHEN
                j.completed + j.failed + j.cancelled + j.skipped
                + (:ended)[width_bucket(j.id, :ids)] = j.total
                THEN (SELECT clock.now FROM clock)
        END
    WHERE j.id = any(:ids)
    RETURNING j.*
),

rippled AS (
    INSERT INTO drumline.job_ripple (job_id)
    SELECT job.id FROM job
    WHERE
        job.finished_at IS NOT NULL
        AND (SELECT true FROM drumline.job_dep AS dep WHERE dep.needs_job = job.id AND NOT dep.is_done LIMIT 1)
)

SELECT
    job.id, job.tenant, job.name, job.owner, job.status, job.options, job.total, job.completed, job.failed,
    job.cancelled, job.skipped, job.pending_jobs, job.reason, job.cancel_requested, job.created_at, job.started_at,
    job.finished_at, job.idempotency_key, job.schedule_id, job.fire_time, job.version
FROM job
