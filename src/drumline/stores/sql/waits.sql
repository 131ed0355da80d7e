-- name: unregistered_waits
-- waits: jobs that wait for jobs of other databases which do not know of it yet, above a place in their order.
SELECT dep.job_id, dep.needs_job, job.life, job.tenant
FROM drumline.job_dep AS dep
INNER JOIN drumline.job ON dep.job_id = job.id
WHERE
    dep.is_far AND NOT dep.is_registered AND NOT dep.is_done
    AND (dep.job_id, dep.needs_job) > (:job::uuid, :needed::uuid)
ORDER BY dep.job_id, dep.needs_job
LIMIT :limit::int4

-- name: mark_registered
-- waits: the awaited jobs know of these waits. The waiting jobs are locked: one that was resumed is registered anew.
--   :jobs …  arrays of equal length
UPDATE drumline.job_dep AS dep SET is_registered = true
FROM unnest(:jobs::uuid [], :needed::uuid [], :lives::int4 []) AS g (job, needed, life)
WHERE
    dep.job_id = g.job AND dep.needs_job = g.needed
    AND g.life = (SELECT job.life FROM drumline.job WHERE job.id = g.job)

-- name: watch_jobs
-- waits: jobs of other databases wait for these, which are locked. A later life of a waiting job replaces an earlier one.
--   :needed …  arrays of equal length, each pair once
-- GIVES the lives that count
INSERT INTO drumline.job_watch (needs_job, job_id, life)
SELECT g.needed, g.job, g.life
FROM unnest(:needed::uuid [], :jobs::uuid [], :lives::int4 []) AS g (needed, job, life)
WHERE true
ON CONFLICT (needs_job, job_id) DO UPDATE SET life = greatest(job_watch.life, excluded.life)
RETURNING needs_job, job_id, life

-- name: note_watched
-- waits: jobs that are locked have changed, because others wait for them now.
UPDATE drumline.job SET version = version + 1 WHERE id = any(:ids::uuid [])

-- name: insert_watch_ripples
-- waits: jobs of other databases have to be told how these ended.
--   :needed …  arrays of equal length
INSERT INTO drumline.watch_ripple (needs_job, job_id, life, status, name)
SELECT g.needed, g.job, g.life, g.status, g.name
FROM
    unnest(
        :needed::uuid [], :jobs::uuid [], :lives::int4 [], :statuses::int2 [], :names::text []
    ) AS g (needed, job, life, status, name)

-- name: watch_ripples
-- waits: ends that jobs of other databases have to be told of, above a number.
SELECT ripple.seq, ripple.needs_job, ripple.job_id, ripple.life, ripple.status, ripple.name
FROM drumline.watch_ripple AS ripple
WHERE ripple.seq > :after::int8
ORDER BY ripple.seq
LIMIT :limit::int4

-- name: delete_watch_ripples
-- waits: these have been told. By number: another end of the same job may have been noted meanwhile.
DELETE FROM drumline.watch_ripple WHERE seq = any(:numbers::int8 [])

-- name: job_life
-- waits: the life of a job, which is locked.
SELECT job.life FROM drumline.job WHERE job.id = :job::uuid

-- name: far_deps
-- resume: the jobs of other databases that a job depends on.
SELECT dep.needs_job, dep.is_done FROM drumline.job_dep AS dep
WHERE dep.job_id = :job::uuid AND dep.is_far
ORDER BY dep.needs_job
