-- name: lock_ended
-- prune: lock tasks that ended before a time and belong to no job, for those go as a whole; those that somebody is acting on are passed over.
--   :above  where the last batch ended, for what it deleted lies in the index until a vacuum, and would be walked again
--   :below  an id of that time: ids carry their creation time, and what was created later cannot have ended before.
--           So no index on the time of the end is needed, which every settlement would have to pay for
SELECT task.id
FROM drumline.task
CROSS JOIN LATERAL (
    SELECT attempt.finished_at
    FROM drumline.attempt
    WHERE attempt.task_id = task.id
    ORDER BY attempt.epoch DESC
    LIMIT 1
) AS a
WHERE
    task.id > :above::uuid
    AND task.id < :below::uuid
    AND a.finished_at < :before::int8
    -- OFFSET 0: looked up task by task. A join would read all of task_live, with what is dead in it, for each batch
    AND NOT EXISTS (SELECT FROM drumline.task_live AS live WHERE live.id = task.id OFFSET 0)
    AND NOT EXISTS (SELECT FROM drumline.job_task AS member WHERE member.task_id = task.id OFFSET 0)
    -- no child before the task that started it, and that not before its children were told of its end
    AND NOT EXISTS (SELECT FROM drumline.task_link AS l WHERE l.child_id = task.id OFFSET 0)
    AND NOT EXISTS (SELECT FROM drumline.child_note AS n WHERE n.parent_id = task.id OFFSET 0)
ORDER BY task.id
LIMIT :limit::int4
FOR UPDATE OF task SKIP LOCKED

-- name: prune
-- prune: delete tasks that this transaction has locked, with all that belongs to them but their dead letters. One that
-- was retried before the lock was had is left alone; nobody can retry it now.
-- GIVES how many were deleted, and which of them may have a dead letter: those that something went wrong with
WITH gone AS (
    DELETE FROM drumline.task
    WHERE
        task.id = any(:ids::uuid [])
        AND NOT EXISTS (SELECT FROM drumline.task_live AS live WHERE live.id = task.id OFFSET 0)
    RETURNING task.id, task.idempotency_key
),

list AS MATERIALIZED (
    SELECT array_agg(gone.id ORDER BY gone.id) AS ids FROM gone
),

histories AS (
    DELETE FROM drumline.attempt WHERE attempt.task_id = any((SELECT list.ids FROM list)::uuid [])
    RETURNING attempt.task_id, attempt.outcome
),

logs AS (
    DELETE FROM drumline.task_log WHERE task_log.task_id = any((SELECT list.ids FROM list)::uuid [])
),

edits AS (
    DELETE FROM drumline.payload_edit WHERE payload_edit.task_id = any((SELECT list.ids FROM list)::uuid [])
),

records AS (
    DELETE FROM drumline.step_record AS r WHERE r.task_id = any((SELECT list.ids FROM list)::uuid [])
),

rounds AS (
    DELETE FROM drumline.task_round AS r WHERE r.task_id = any((SELECT list.ids FROM list)::uuid [])
),

round_records AS (
    DELETE FROM drumline.round_record AS r WHERE r.task_id = any((SELECT list.ids FROM list)::uuid [])
),

round_links AS (
    DELETE FROM drumline.round_link AS l WHERE l.task_id = any((SELECT list.ids FROM list)::uuid [])
),

forks AS (
    DELETE FROM drumline.task_fork AS f WHERE f.task_id = any((SELECT list.ids FROM list)::uuid [])
),

waits AS (
    DELETE FROM drumline.task_wait AS w WHERE w.task_id = any((SELECT list.ids FROM list)::uuid [])
),

links AS (
    DELETE FROM drumline.task_link AS l WHERE l.parent_id = any((SELECT list.ids FROM list)::uuid [])
),

signals AS (
    DELETE FROM drumline.signal AS s WHERE s.task_id = any((SELECT list.ids FROM list)::uuid [])
),

progresses AS (
    DELETE FROM drumline.progress WHERE progress.task_id = any((SELECT list.ids FROM list)::uuid [])
),

files AS (
    DELETE FROM drumline.artifact WHERE artifact.task_id = any((SELECT list.ids FROM list)::uuid [])
),

keys AS (
    DELETE FROM drumline.idempotency AS i
    WHERE
        i.key = any(ARRAY(SELECT gone.idempotency_key FROM gone WHERE gone.idempotency_key IS NOT NULL))
        -- another tenant's may read the same
        AND (SELECT list.ids FROM list)[width_bucket(i.task_id, (SELECT list.ids FROM list))] = i.task_id
)

SELECT
    (SELECT count(*) FROM gone) AS count,
    ARRAY(SELECT DISTINCT h.task_id FROM histories AS h WHERE h.outcome <> 3) AS unhappy

-- name: prune_sessions
-- prune: forget sessions that closed before a time and of which no claim is remembered.
DELETE FROM drumline.session AS s
WHERE
    s.closed_at < :before::int8
    AND NOT EXISTS (SELECT FROM drumline.claim WHERE claim.session = s.id)

-- name: unread_since
-- prune: when the earliest was written of the first :limit rows that some consumer has not passed on.
-- GIVES that time, NULL if there is none or no consumer, and how many rows were looked at
SELECT min(unread.at) AS at, count(*) AS count
FROM (
    (
        SELECT o.at FROM drumline.outbox AS o
        WHERE o.position > (SELECT min(c.position) FROM drumline.event_cursor AS c)
        ORDER BY o.position
        LIMIT :limit::int4
    )
    UNION ALL
    (
        SELECT o.at FROM drumline.outbox AS o
        WHERE o.position IS NULL AND EXISTS (SELECT FROM drumline.event_cursor)
        ORDER BY o.seq
        LIMIT :limit
    )
) AS unread

-- name: dead_rows
-- tidy: how many dead rows lie among the tasks that have not ended.
SELECT pg_stat_get_dead_tuples('drumline.task_live'::regclass) AS count

-- name: vacuum_task_live
-- tidy: make the room of dead rows usable again. Not while somebody else does so; and the file keeps its length, since
-- cutting it off would need a lock that all claims wait for, and it would grow again at once.
VACUUM (SKIP_LOCKED, TRUNCATE FALSE) drumline.task_live

-- name: check
-- check: the server's version and the newest migration.
SELECT current_setting('server_version') AS version, max(m.number) AS number FROM drumline.migration AS m

-- name: lock_ended_jobs
-- prune: lock jobs that ended before a time, longest ago first; not while others have to be told of it. Those that
-- somebody is acting on are passed over.
SELECT job.id, job.total FROM drumline.job
WHERE
    job.finished_at < :before::int8
    AND NOT EXISTS (SELECT FROM drumline.job_ripple AS ripple WHERE ripple.job_id = job.id OFFSET 0)
ORDER BY job.finished_at
LIMIT :limit::int4
FOR UPDATE SKIP LOCKED

-- name: prune_jobs
-- prune: delete jobs that this transaction has locked, but for their tasks.
-- GIVES the tasks that have to go with them
WITH gone AS (
    DELETE FROM drumline.job_task AS member WHERE member.job_id = any(:ids::uuid [])
    RETURNING member.task_id
),

edges AS (
    DELETE FROM drumline.task_edge AS edge WHERE edge.parent = any(ARRAY(SELECT gone.task_id FROM gone))
),

deps AS (
    DELETE FROM drumline.job_dep AS dep WHERE dep.job_id = any(:ids)
),

watches AS (
    DELETE FROM drumline.job_watch AS watch WHERE watch.needs_job = any(:ids)
),

jobs AS (
    DELETE FROM drumline.job WHERE job.id = any(:ids)
)

SELECT gone.task_id FROM gone
