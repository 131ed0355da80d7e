-- name: ended_before
-- prune: tasks that ended before a time and belong to no job, for those go as a whole. Ids carry their creation time, so the oldest come first.
--   :above  where the last batch ended: older ones that still wait need not be walked past again
--   :below  an id of that time: what was created later cannot have ended before, and need not be looked at
SELECT task.id FROM task
WHERE
    task.id > :above
    AND task.id < :below
    AND NOT EXISTS (SELECT 1 FROM task_live WHERE id = task.id)
    AND NOT EXISTS (SELECT 1 FROM job_task WHERE task_id = task.id)
    -- no child before the task that started it, and that not before its children were told of its end
    AND NOT EXISTS (SELECT 1 FROM task_link WHERE child_id = task.id)
    AND NOT EXISTS (SELECT 1 FROM child_note WHERE parent_id = task.id)
    AND (SELECT max(finished_at) FROM attempt WHERE task_id = task.id) < :before
ORDER BY task.id
LIMIT :limit

-- name: unread_since
-- prune: when the earliest was written of the first :limit rows that some consumer has not passed on.
-- GIVES that time, NULL if there is none or no consumer, and how many rows were looked at
SELECT min(unread.at) AS at, count(*) AS count
FROM (
    SELECT at FROM outbox WHERE seq > (SELECT min(position) FROM event_cursor) ORDER BY seq LIMIT :limit
) AS unread

-- name: still_ended
-- prune: which of these tasks are still as they were when somebody looked: there, not retried, not ended anew.
--   :ids  JSON list
SELECT task.id FROM json_each(:ids) AS given
INNER JOIN task ON given.value = task.id
WHERE
    NOT EXISTS (SELECT 1 FROM task_live WHERE id = task.id)
    AND (SELECT max(finished_at) FROM attempt WHERE task_id = task.id) < :before

-- name: prune_sessions
-- prune: forget sessions that closed before a time, but none whose tasks have not been freed yet: a reap finds those
-- by their session.
DELETE FROM session
WHERE
    closed_at < :before
    AND NOT EXISTS (SELECT 1 FROM task_live WHERE state = 2 AND task_live.session = session.id)

-- name: ended_jobs
-- prune: jobs that ended before a time, longest ago first; not while others have to be told of it.
SELECT job.id, job.total FROM job
WHERE job.finished_at < :before AND NOT EXISTS (SELECT 1 FROM job_ripple WHERE job_ripple.job_id = job.id)
ORDER BY job.finished_at
LIMIT :limit

-- name: still_ended_jobs
-- prune: which of these jobs are still as they were when somebody looked.
--   :ids  JSON list
SELECT job.id FROM json_each(:ids) AS given
INNER JOIN job ON given.value = job.id
WHERE job.finished_at < :before AND NOT EXISTS (SELECT 1 FROM job_ripple WHERE job_ripple.job_id = job.id)

-- name: tasks_of_job
-- prune: the tasks of a job.
SELECT task_id FROM job_task WHERE job_id = :job

-- name: delete_links
-- prune: which tasks were started by those that go.
--   :ids  JSON list
DELETE FROM task_link WHERE parent_id IN (SELECT value FROM json_each(:ids))

-- name: delete_edges
-- prune: the edges of tasks that go.
--   :ids  JSON list: all tasks of their jobs
DELETE FROM task_edge WHERE parent IN (SELECT value FROM json_each(:ids))

-- name: delete_deps
-- prune: what a job depended on. Those who depend on it have been told, and keep its id.
DELETE FROM job_dep WHERE job_id = :job

-- name: delete_watches
-- prune: jobs of other databases that waited for a job. The ripples that were written for them stay.
DELETE FROM job_watch WHERE needs_job = :job

-- name: delete_job
-- prune: a job whose tasks have gone.
DELETE FROM job WHERE id = :job
