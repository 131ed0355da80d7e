-- name: unread_tasks
-- drain: the tasks of which the log has events that some consumer has not passed on; NULL if these are too many rows.
WITH unread AS MATERIALIZED (
    (
        SELECT o.tasks FROM drumline.outbox AS o
        WHERE o.position > (SELECT min(c.position) FROM drumline.event_cursor AS c)
        LIMIT :limit::int4
    )
    UNION ALL
    (
        SELECT o.tasks FROM drumline.outbox AS o
        WHERE o.position IS NULL AND EXISTS (SELECT FROM drumline.event_cursor)
        LIMIT :limit
    )
)

SELECT
    CASE
        WHEN (SELECT count(*) FROM unread) < :limit
            THEN ARRAY(SELECT DISTINCT task.id FROM unread CROSS JOIN LATERAL unnest(unread.tasks) AS task (id))
    END AS tasks

-- name: has_bulk
-- drain: whether a bulk operation is under way.
SELECT EXISTS (SELECT FROM drumline.bulk WHERE bulk.state = 'running') AS has_bulk

-- name: exclude_bulks
-- drain: let no bulk operation begin until the end of this transaction; false if one is beginning. The first statement of those
-- that take units out, and it does not wait. has_bulk comes after it, and sees what had begun before.
SELECT pg_try_advisory_xact_lock_shared(7237976664086179701) AS is_excluded

-- name: own_schedules
-- drain: which of these units are schedules. A bulk operation is about tasks, so that schedules may leave meanwhile.
SELECT schedule.id FROM drumline.schedule WHERE schedule.id = any(:ids::uuid [])

-- name: movable_schedules
-- drain: schedules of which no run goes on, oldest first.
SELECT live.id FROM drumline.schedule_live AS live
WHERE
    NOT EXISTS (SELECT FROM drumline.task_live AS t WHERE t.id = live.last_task OFFSET 0)
    AND NOT EXISTS (SELECT FROM drumline.job AS j WHERE j.id = live.last_job AND j.finished_at IS NULL OFFSET 0)
ORDER BY live.id
LIMIT :limit::int4

-- name: movable_jobs
-- drain: jobs of which no task runs and that consumers of the log have been told all about, oldest first.
SELECT job.id FROM drumline.job
WHERE
    NOT EXISTS (
        SELECT FROM drumline.job_task AS member
        WHERE
            member.job_id = job.id
            AND (
                member.task_id = any(:busy::uuid [])
                OR EXISTS (SELECT FROM drumline.task_live AS l WHERE l.id = member.task_id AND l.state = 2 OFFSET 0)
                OR EXISTS (SELECT FROM drumline.task_link AS l WHERE l.parent_id = member.task_id OFFSET 0)
            )
        OFFSET 0
    )
ORDER BY job.id
LIMIT :limit::int4

-- name: movable_tasks
-- drain: tasks outside jobs that do not run and that consumers of the log have been told all about, oldest first.
SELECT task.id FROM drumline.task
WHERE
    task.id <> all(:busy::uuid [])
    AND NOT EXISTS (SELECT FROM drumline.task_live AS l WHERE l.id = task.id AND l.state = 2 OFFSET 0)
    AND NOT EXISTS (SELECT FROM drumline.job_task AS member WHERE member.task_id = task.id OFFSET 0)
    -- tasks that others started, and those others, stay together until they are pruned
    AND NOT EXISTS (SELECT FROM drumline.task_link AS l WHERE l.child_id = task.id OFFSET 0)
    AND NOT EXISTS (SELECT FROM drumline.task_link AS l WHERE l.parent_id = task.id OFFSET 0)
    AND NOT EXISTS (SELECT FROM drumline.round_link AS l WHERE l.child_id = task.id OFFSET 0)
    AND NOT EXISTS (SELECT FROM drumline.round_link AS l WHERE l.task_id = task.id OFFSET 0)
ORDER BY task.id
LIMIT :limit::int4

-- name: lock_units
-- drain: let no other transaction copy, take out, activate or discard these units. The first statement of each of those, so that
-- what they read after it is what the last one has left.
SELECT pg_advisory_xact_lock(hashtextextended(unit.id::text, 45))
FROM (SELECT g.id FROM unnest(:ids::uuid []) AS g (id) ORDER BY g.id OFFSET 0) AS unit

-- name: lock_unit_jobs
-- drain: lock jobs, and so their graphs.
SELECT job.id FROM drumline.job WHERE job.id = any(:ids::uuid []) ORDER BY job.id FOR UPDATE

-- name: lock_unit_schedules
-- drain: lock schedules against firing.
SELECT live.id FROM drumline.schedule_live AS live WHERE live.id = any(:ids::uuid []) ORDER BY live.id FOR UPDATE

-- name: unit_tasks
-- drain: the tasks of units: those of a job, or the task itself.
SELECT g.id AS root, coalesce(member.task_id, g.id) AS task
FROM unnest(:ids::uuid []) AS g (id)
LEFT JOIN drumline.job_task AS member ON g.id = member.job_id
ORDER BY 2

-- name: read_units
-- drain: units that are here and of which nothing goes on, as documents: lists of rows by table, with the names of lanes and the
-- causes of dead letters, which have other numbers elsewhere.
-- GIVES id, version, digest, and the document if :whole
WITH unit AS MATERIALIZED (
    SELECT g.id, array_agg(coalesce(member.task_id, g.id) ORDER BY member.task_id) AS tasks
    FROM unnest(:ids::uuid []) AS g (id)
    LEFT JOIN drumline.job_task AS member ON g.id = member.job_id
    GROUP BY g.id
),

here AS MATERIALIZED (
    SELECT unit.id, unit.tasks FROM unit
    WHERE
        NOT EXISTS (SELECT FROM drumline.task_live AS l WHERE l.id = any(unit.tasks) AND l.state = 2 OFFSET 0)
        AND NOT EXISTS (
            SELECT FROM drumline.task_link AS l
            WHERE l.parent_id = any(unit.tasks) OR l.child_id = any(unit.tasks) OFFSET 0
        )
        AND NOT EXISTS (
            SELECT FROM drumline.round_link AS l
            WHERE l.task_id = any(unit.tasks) OR l.child_id = any(unit.tasks) OFFSET 0
        )
        AND (
            EXISTS (SELECT FROM drumline.job WHERE job.id = unit.id OFFSET 0)
            OR EXISTS (
                SELECT FROM drumline.task
                WHERE
                    task.id = unit.id
                    AND NOT EXISTS (SELECT FROM drumline.job_task AS m WHERE m.task_id = unit.id OFFSET 0)
                OFFSET 0
            )
            OR EXISTS (
                SELECT FROM drumline.schedule_live AS s
                WHERE
                    s.id = unit.id
                    AND NOT EXISTS (SELECT FROM drumline.task_live AS t WHERE t.id = s.last_task OFFSET 0)
                    AND NOT EXISTS (
                        SELECT FROM drumline.job AS j WHERE j.id = s.last_job AND j.finished_at IS NULL OFFSET 0
                    )
                OFFSET 0
            )
        )
),

read AS MATERIALIZED (
    SELECT
        here.id,
        coalesce((
            SELECT sum(
                coalesce(
                    (SELECT l.epoch FROM drumline.task_live AS l WHERE l.id = t.id),
                    (SELECT max(a.epoch) FROM drumline.attempt AS a WHERE a.task_id = t.id),
                    0
                )
            )
            FROM unnest(here.tasks) AS t (id)
        ), 0)
        + coalesce((SELECT j.version + j.life FROM drumline.job AS j WHERE j.id = here.id), 0)
        + coalesce(
            (SELECT s.version + s.runs + s.skipped + s.missed FROM drumline.schedule_live AS s WHERE s.id = here.id), 0
        )
        + coalesce((SELECT arrival.moves FROM drumline.arrival WHERE arrival.id = here.id), 0) AS version,
        jsonb_build_object(
            'task', (SELECT jsonb_agg(to_jsonb(r) ORDER BY r.id) FROM drumline.task AS r WHERE r.id = any(here.tasks)),
            'task_live', -- as it was before its key of a limit was looked up, which is no change of the task
            (
                SELECT jsonb_agg(to_jsonb(r) || jsonb_build_object('lane', t.lane, 'limit_key', 0) ORDER BY r.id)
                FROM drumline.task_live AS r
                CROSS JOIN LATERAL (SELECT task.lane FROM drumline.task WHERE task.id = r.id OFFSET 0) AS t
                WHERE r.id = any(here.tasks)
            ),
            'attempt',
            (
                SELECT jsonb_agg(to_jsonb(r) ORDER BY r.task_id, r.epoch) FROM drumline.attempt AS r
                WHERE r.task_id = any(here.tasks)
            ),
            'task_log',
            (
                SELECT jsonb_agg(to_jsonb(r) ORDER BY r.task_id, r.epoch, r.seq) FROM drumline.task_log AS r
                WHERE r.task_id = any(here.tasks)
            ),
            'artifact',
            (
                SELECT jsonb_agg(to_jsonb(r) ORDER BY r.task_id, r.name) FROM drumline.artifact AS r
                WHERE r.task_id = any(here.tasks)
            ),
            'step_record',
            (
                SELECT jsonb_agg(to_jsonb(r) ORDER BY r.task_id, r.seq) FROM drumline.step_record AS r
                WHERE r.task_id = any(here.tasks)
            ),
            'task_round',
            (
                SELECT jsonb_agg(to_jsonb(r) ORDER BY r.task_id, r.round) FROM drumline.task_round AS r
                WHERE r.task_id = any(here.tasks)
            ),
            'round_record',
            (
                SELECT jsonb_agg(to_jsonb(r) ORDER BY r.task_id, r.round, r.seq) FROM drumline.round_record AS r
                WHERE r.task_id = any(here.tasks)
            ),
            'signal',
            (
                SELECT jsonb_agg(to_jsonb(r) ORDER BY r.task_id, r.id) FROM drumline.signal AS r
                WHERE r.task_id = any(here.tasks)
            ),
            'task_fork',
            (
                SELECT jsonb_agg(to_jsonb(r) ORDER BY r.task_id, r.id) FROM drumline.task_fork AS r
                WHERE r.task_id = any(here.tasks)
            ),
            'task_wait',
            (
                SELECT jsonb_agg(to_jsonb(r) ORDER BY r.task_id, r.name, r.key) FROM drumline.task_wait AS r
                WHERE r.task_id = any(here.tasks)
            ),
            'progress',
            (
                SELECT jsonb_agg(to_jsonb(r) ORDER BY r.task_id) FROM drumline.progress AS r
                WHERE r.task_id = any(here.tasks)
            ),
            'payload_edit',
            (
                SELECT jsonb_agg(to_jsonb(r) ORDER BY r.task_id, r.epoch) FROM drumline.payload_edit AS r
                WHERE r.task_id = any(here.tasks)
            ),
            'task_expiry',
            (
                SELECT jsonb_agg(to_jsonb(r) ORDER BY r.task_id) FROM drumline.task_expiry AS r
                WHERE r.task_id = any(here.tasks)
            ),
            'dead_letter',
            (
                SELECT
                    jsonb_agg(
                        to_jsonb(r)
                        || jsonb_build_object(
                            'lane', c.lane, 'fingerprint', c.fingerprint, 'kind', c.kind, 'cause_message', c.message
                        )
                        ORDER BY r.task_id
                    )
                FROM drumline.dead_letter AS r
                CROSS JOIN LATERAL (SELECT cause.* FROM drumline.cause WHERE cause.id = r.cause OFFSET 0) AS c
                WHERE r.task_id = any(here.tasks)
            ),
            'idempotency',
            (
                SELECT jsonb_agg(to_jsonb(r) ORDER BY r.key) FROM drumline.task AS t
                CROSS JOIN LATERAL (SELECT lane.tenant FROM drumline.lane WHERE lane.id = t.lane OFFSET 0) AS l
                CROSS JOIN LATERAL (
                    SELECT i.* FROM drumline.idempotency AS i
                    WHERE i.key = t.idempotency_key AND i.tenant = l.tenant AND i.task_id = t.id
                    OFFSET 0
                ) AS r
                WHERE t.id = any(here.tasks) AND t.idempotency_key IS NOT NULL
            ),
            'job', (SELECT jsonb_agg(to_jsonb(r)) FROM drumline.job AS r WHERE r.id = here.id),
            'job_task',
            (SELECT jsonb_agg(to_jsonb(r) ORDER BY r.task_id) FROM drumline.job_task AS r WHERE r.job_id = here.id),
            'task_edge',
            (
                SELECT jsonb_agg(to_jsonb(r) ORDER BY r.parent, r.child) FROM drumline.task_edge AS r
                WHERE r.parent = any(here.tasks)
            ),
            'job_dep',
            (SELECT jsonb_agg(to_jsonb(r) ORDER BY r.needs_job) FROM drumline.job_dep AS r WHERE r.job_id = here.id),
            'job_watch',
            (SELECT jsonb_agg(to_jsonb(r) ORDER BY r.job_id) FROM drumline.job_watch AS r WHERE r.needs_job = here.id),
            'schedule', (SELECT jsonb_agg(to_jsonb(r)) FROM drumline.schedule AS r WHERE r.id = here.id),
            'schedule_live', (SELECT jsonb_agg(to_jsonb(r)) FROM drumline.schedule_live AS r WHERE r.id = here.id),
            'schedule_run',
            (
                SELECT jsonb_agg(to_jsonb(r) ORDER BY r.fire_time) FROM drumline.schedule_run AS r
                WHERE r.schedule_id = here.id
            ),
            'arrival', (SELECT jsonb_agg(to_jsonb(r)) FROM drumline.arrival AS r WHERE r.id = here.id),
            'lane',
            (
                SELECT jsonb_agg(to_jsonb(r) ORDER BY r.id) FROM drumline.lane AS r
                WHERE r.id IN (
                    SELECT t.lane FROM drumline.task AS t WHERE t.id = any(here.tasks)
                    UNION
                    SELECT a.lane FROM drumline.attempt AS a WHERE a.task_id = any(here.tasks)
                )
            )
        )::text AS document
    FROM here
)

SELECT
    read.id,
    read.version::int8,
    md5(read.document) AS digest,
    CASE WHEN :whole::bool THEN read.document END AS document
FROM read
ORDER BY read.id

-- name: takes_copies
-- drain: whether this database takes copies: not if it is, or is being, removed. Closing waits for this transaction.
SELECT me.takes_copies FROM drumline.shard_self AS me FOR SHARE

-- name: take_copies
-- drain: take copies from now on, or take no more.
UPDATE drumline.shard_self SET takes_copies = :takes::bool WHERE takes_copies <> :takes

-- name: put_copies
-- drain: keep copies of units: over older ones, not beside the unit itself, and not if it was here in a later version.
WITH given AS MATERIALIZED (
    SELECT g.id, g.version, g.digest, g.document
    FROM unnest(:ids::uuid [], :versions::int8 [], :digests::text [], :documents::text [])
        AS g (id, version, digest, document)
    WHERE
        NOT EXISTS (SELECT FROM drumline.task WHERE task.id = g.id OFFSET 0)
        AND NOT EXISTS (SELECT FROM drumline.job WHERE job.id = g.id OFFSET 0)
        AND NOT EXISTS (SELECT FROM drumline.schedule WHERE schedule.id = g.id OFFSET 0)
        AND NOT EXISTS (SELECT FROM drumline.forward AS f WHERE f.id = g.id AND f.version > g.version OFFSET 0)
        AND NOT EXISTS (SELECT FROM drumline.arrival AS a WHERE a.id = g.id AND a.version > g.version OFFSET 0)
)

INSERT INTO drumline.drain_copy AS mine (id, version, digest, document, giver, copied_at)
SELECT
    given.id, given.version, given.digest, given.document, :giver::text,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
FROM given
ORDER BY given.id
ON CONFLICT (id) DO UPDATE
SET
    version = excluded.version, digest = excluded.digest, document = excluded.document, giver = excluded.giver,
    copied_at = excluded.copied_at
WHERE mine.version < excluded.version

-- name: same_copies
-- drain: which of these very copies are there. A statement after put_copies.
SELECT c.id
FROM unnest(:ids::uuid [], :versions::int8 [], :digests::text []) AS g (id, version, digest)
INNER JOIN drumline.drain_copy AS c ON g.id = c.id AND g.version = c.version AND g.digest = c.digest
WHERE c.giver = :giver::text

-- name: keep_keys
-- drain: keep the idempotency keys of units; one that belongs to another task stays as it is.
INSERT INTO drumline.idempotency
SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.idempotency, :rows::jsonb) AS r
ON CONFLICT DO NOTHING

-- name: list_copies
-- drain: inactive copies.
SELECT c.id, c.giver, c.version, c.digest FROM drumline.drain_copy AS c ORDER BY c.id LIMIT :limit::int4

-- name: count_copies
-- drain: how many inactive copies there are of units that come from a shard.
SELECT count(*) AS count FROM drumline.drain_copy AS c WHERE c.giver = :giver::text

-- name: copied_documents
-- drain: the documents of inactive copies.
SELECT c.id, c.version, c.document
FROM unnest(:ids::uuid [], :versions::int8 []) AS g (id, version)
INNER JOIN drumline.drain_copy AS c ON g.id = c.id AND g.version = c.version
ORDER BY c.id

-- name: delete_copies
-- drain: delete inactive copies by their versions.
DELETE FROM drumline.drain_copy AS c
USING unnest(:ids::uuid [], :versions::int8 []) AS g (id, version)
WHERE c.id = g.id AND c.version = g.version
RETURNING c.id

-- name: discard_copies
-- drain: delete these very inactive copies. By their digests, too: a unit may have changed without another version, and have been
-- copied anew and taken out since the copy that is meant was refused.
DELETE FROM drumline.drain_copy AS c
USING unnest(:ids::uuid [], :versions::int8 [], :digests::text []) AS g (id, version, digest)
WHERE c.id = g.id AND c.version = g.version AND c.digest = g.digest
RETURNING c.document

-- name: drop_keys
-- drain: forget the idempotency keys that came with copies, of tasks that neither are here nor were.
DELETE FROM drumline.idempotency AS i
USING jsonb_populate_recordset(NULL::drumline.idempotency, :rows::jsonb) AS r
WHERE
    i.key = r.key AND i.tenant = r.tenant AND i.task_id = r.task_id
    AND NOT EXISTS (SELECT FROM drumline.task WHERE task.id = i.task_id)
    AND NOT EXISTS (SELECT FROM drumline.forward AS f WHERE f.id = i.task_id)

-- name: delete_units
-- drain: delete units that this transaction has locked, but for their idempotency keys and dead letters.
WITH tasks AS (
    DELETE FROM drumline.task WHERE task.id = any(:tasks::uuid [])
),

lives AS (
    DELETE FROM drumline.task_live AS l WHERE l.id = any(:tasks)
),

attempts AS (
    DELETE FROM drumline.attempt AS a WHERE a.task_id = any(:tasks)
),

logs AS (
    DELETE FROM drumline.task_log AS l WHERE l.task_id = any(:tasks)
),

files AS (
    DELETE FROM drumline.artifact AS f WHERE f.task_id = any(:tasks)
),

records AS (
    DELETE FROM drumline.step_record AS r WHERE r.task_id = any(:tasks)
),

rounds AS (
    DELETE FROM drumline.task_round AS r WHERE r.task_id = any(:tasks)
),

round_records AS (
    DELETE FROM drumline.round_record AS r WHERE r.task_id = any(:tasks)
),

signals AS (
    DELETE FROM drumline.signal AS s WHERE s.task_id = any(:tasks)
),

forks AS (
    DELETE FROM drumline.task_fork AS f WHERE f.task_id = any(:tasks)
),

waits AS (
    DELETE FROM drumline.task_wait AS w WHERE w.task_id = any(:tasks)
),

progresses AS (
    DELETE FROM drumline.progress AS p WHERE p.task_id = any(:tasks)
),

edits AS (
    DELETE FROM drumline.payload_edit AS e WHERE e.task_id = any(:tasks)
),

expiries AS (
    DELETE FROM drumline.task_expiry AS e WHERE e.task_id = any(:tasks)
),

edges AS (
    DELETE FROM drumline.task_edge AS e WHERE e.parent = any(:tasks)
),

members AS (
    DELETE FROM drumline.job_task AS m WHERE m.task_id = any(:tasks)
),

deps AS (
    DELETE FROM drumline.job_dep AS d WHERE d.job_id = any(:ids::uuid [])
),

watches AS (
    DELETE FROM drumline.job_watch AS w WHERE w.needs_job = any(:ids)
),

jobs AS (
    DELETE FROM drumline.job AS j WHERE j.id = any(:ids)
),

runs AS (
    DELETE FROM drumline.schedule_run AS r WHERE r.schedule_id = any(:ids)
),

moves AS (
    DELETE FROM drumline.schedule_live AS s WHERE s.id = any(:ids)
),

arrivals AS (
    DELETE FROM drumline.arrival AS a WHERE a.id = any(:ids)
)

DELETE FROM drumline.schedule AS s WHERE s.id = any(:ids)

-- name: reserved_names
-- drain: the keys of jobs and the names of schedules.
SELECT j.id, 'job/' || j.tenant || '/' || j.idempotency_key AS name FROM drumline.job AS j
WHERE j.id = any(:ids::uuid []) AND j.idempotency_key IS NOT NULL
UNION ALL
SELECT s.id, 'schedule/' || s.tenant || '/' || s.name FROM drumline.schedule AS s
WHERE s.id = any(:ids)

-- name: part_waits
-- drain: let jobs that are left behind wait for jobs of another database from now on. So do those that one of these has
-- failed: it counts as done there, and has to be waited for again when they are resumed.
UPDATE drumline.job_dep AS d
SET is_far = true, is_registered = false, is_done = false
WHERE
    d.needs_job = any(:ids::uuid []) AND NOT d.is_far
    AND (
        NOT d.is_done
        OR EXISTS (SELECT FROM drumline.job AS j WHERE j.id = d.job_id AND j.failed_by = d.needs_job)
    )

-- name: add_forwards
-- drain: say where units went: over older rows, and not beside what they are about.
INSERT INTO drumline.forward AS mine (id, root, shard, version, reserved)
SELECT g.id, g.root, g.shard, g.version, g.reserved
FROM unnest(:ids::uuid [], :roots::uuid [], :shards::text [], :versions::int8 [], :reserved::text [])
    AS g (id, root, shard, version, reserved)
WHERE
    NOT EXISTS (SELECT FROM drumline.task WHERE task.id = g.id OFFSET 0)
    AND NOT EXISTS (SELECT FROM drumline.job WHERE job.id = g.id OFFSET 0)
    AND NOT EXISTS (SELECT FROM drumline.schedule WHERE schedule.id = g.id OFFSET 0)
ORDER BY g.id
ON CONFLICT (id) DO UPDATE
SET root = excluded.root, shard = excluded.shard, version = excluded.version, reserved = excluded.reserved
WHERE mine.version < excluded.version

-- name: drop_forwards
-- drain: units are here again.
DELETE FROM drumline.forward AS f WHERE f.root = any(:roots::uuid [])

-- name: forwards
-- drain: where tasks, jobs and schedules went that were taken out.
SELECT f.id, f.root, f.shard, f.version, f.reserved FROM drumline.forward AS f WHERE f.id = any(:ids::uuid [])

-- name: traces
-- drain: what is known here of tasks outside jobs: whether they are here, where they went, and their inactive copies.
SELECT
    g.id,
    EXISTS (SELECT FROM drumline.task WHERE task.id = g.id OFFSET 0) AS is_here,
    f.shard, f.version,
    c.giver, c.version AS copied
FROM unnest(:ids::uuid []) AS g (id)
LEFT JOIN LATERAL (
    SELECT forward.shard, forward.version FROM drumline.forward WHERE forward.id = g.id OFFSET 0
) AS f ON true
LEFT JOIN LATERAL (
    SELECT copy.giver, copy.version FROM drumline.drain_copy AS copy WHERE copy.id = g.id OFFSET 0
) AS c ON true

-- name: all_forwards
-- drain: all forwarding rows, or those to one shard.
SELECT f.id, f.root, f.shard, f.version, f.reserved FROM drumline.forward AS f
WHERE f.id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000') AND (:shard::text IS NULL OR f.shard = :shard)
ORDER BY f.id
LIMIT :limit::int4

-- name: reserved_forwards
-- drain: which units that were taken out have these names.
SELECT f.reserved, f.root FROM drumline.forward AS f WHERE f.reserved = any(:names::text [])

-- name: count_causes
-- drain: count dead letters that arrive to their causes.
--   locks  causes in the order of (lane, fingerprint)
INSERT INTO drumline.cause AS c (lane, fingerprint, kind, message, count, first_at, last_at)
SELECT g.lane, g.fingerprint, min(g.kind), min(g.message), count(*), min(g.at), max(g.at)
FROM unnest(:lanes::int4 [], :fingerprints::text [], :kinds::text [], :messages::text [], :at::int8 [])
    AS g (lane, fingerprint, kind, message, at)
GROUP BY g.lane, g.fingerprint
ORDER BY g.lane, g.fingerprint
ON CONFLICT (lane, fingerprint) DO UPDATE
SET
    count = c.count + excluded.count, first_at = least(c.first_at, excluded.first_at),
    last_at = greatest(c.last_at, excluded.last_at)
RETURNING c.id, c.lane, c.fingerprint

-- name: insert_units
-- drain: insert the rows of documents. The key of a job and the name of a schedule that another one has taken meanwhile are
-- given up, for neither must be lost.
WITH tasks AS (
    INSERT INTO drumline.task SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.task, :rows::jsonb -> 'task') AS r
),

lives AS (
    INSERT INTO drumline.task_live
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.task_live, :rows -> 'task_live') AS r
),

attempts AS (
    INSERT INTO drumline.attempt
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.attempt, :rows -> 'attempt') AS r
),

logs AS (
    INSERT INTO drumline.task_log
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.task_log, :rows -> 'task_log') AS r
),

files AS (
    INSERT INTO drumline.artifact
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.artifact, :rows -> 'artifact') AS r
),

records AS (
    INSERT INTO drumline.step_record
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.step_record, :rows -> 'step_record') AS r
),

rounds AS (
    INSERT INTO drumline.task_round
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.task_round, :rows -> 'task_round') AS r
),

round_records AS (
    INSERT INTO drumline.round_record
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.round_record, :rows -> 'round_record') AS r
),

signals AS (
    -- numbered here, in their order: others have the numbers that they had elsewhere
    INSERT INTO drumline.signal
    SELECT r.*
    FROM
        (
            SELECT given.row FROM jsonb_array_elements(:rows -> 'signal') AS given (row)
            ORDER BY (given.row ->> 'seq')::int8
            OFFSET 0
        ) AS g
    CROSS JOIN LATERAL jsonb_populate_record(
        NULL::drumline.signal, g.row || jsonb_build_object('seq', nextval('drumline.signal_seq_seq'))
    ) AS r
),

forks AS (
    INSERT INTO drumline.task_fork
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.task_fork, :rows -> 'task_fork') AS r
),

waits AS (
    INSERT INTO drumline.task_wait
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.task_wait, :rows -> 'task_wait') AS r
),

progresses AS (
    INSERT INTO drumline.progress
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.progress, :rows -> 'progress') AS r
),

edits AS (
    INSERT INTO drumline.payload_edit
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.payload_edit, :rows -> 'payload_edit') AS r
),

expiries AS (
    INSERT INTO drumline.task_expiry
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.task_expiry, :rows -> 'task_expiry') AS r
),

letters AS (
    INSERT INTO drumline.dead_letter
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.dead_letter, :rows -> 'dead_letter') AS r
),

jobs AS (
    INSERT INTO drumline.job
    SELECT r.*
    FROM jsonb_array_elements(:rows -> 'job') AS given (row)
    CROSS JOIN LATERAL jsonb_populate_record(
        NULL::drumline.job,
        CASE
            WHEN EXISTS (
                SELECT FROM drumline.job AS j
                WHERE j.idempotency_key = given.row ->> 'idempotency_key' AND j.tenant = given.row ->> 'tenant'
            ) THEN given.row || '{"idempotency_key": null}'::jsonb
            ELSE given.row
        END
    ) AS r
),

members AS (
    INSERT INTO drumline.job_task
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.job_task, :rows -> 'job_task') AS r
),

edges AS (
    INSERT INTO drumline.task_edge
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.task_edge, :rows -> 'task_edge') AS r
),

deps AS (
    INSERT INTO drumline.job_dep
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.job_dep, :rows -> 'job_dep') AS r
),

watches AS (
    INSERT INTO drumline.job_watch
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.job_watch, :rows -> 'job_watch') AS r
),

schedules AS (
    INSERT INTO drumline.schedule
    SELECT r.*
    FROM jsonb_array_elements(:rows -> 'schedule') AS given (row)
    CROSS JOIN LATERAL jsonb_populate_record(
        NULL::drumline.schedule,
        CASE
            WHEN EXISTS (
                SELECT FROM drumline.schedule AS s
                WHERE s.name = given.row ->> 'name' AND s.tenant = given.row ->> 'tenant'
            )
                THEN
                    given.row
                    || jsonb_build_object('name', (given.row ->> 'name') || '~' || right(given.row ->> 'id', 8))
            ELSE given.row
        END
    ) AS r
),

moves AS (
    INSERT INTO drumline.schedule_live
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.schedule_live, :rows -> 'schedule_live') AS r
),

runs AS (
    INSERT INTO drumline.schedule_run
    SELECT r.* FROM jsonb_populate_recordset(NULL::drumline.schedule_run, :rows -> 'schedule_run') AS r
)

INSERT INTO drumline.arrival AS a (id, version, moves)
SELECT r.id, r.version, r.moves FROM jsonb_populate_recordset(NULL::drumline.arrival, :rows -> 'arrival') AS r
ON CONFLICT (id) DO UPDATE SET version = excluded.version, moves = excluded.moves

-- name: held
-- drain: what is here. Of tasks and jobs no more are counted than :most.
SELECT
    (
        SELECT count(*)
        FROM (
            SELECT FROM drumline.task
            WHERE NOT EXISTS (SELECT FROM drumline.job_task AS member WHERE member.task_id = task.id)
            LIMIT :most::int4
        ) AS alone
    ) AS tasks,
    (SELECT count(*) FROM (SELECT FROM drumline.job LIMIT :most) AS job) AS jobs,
    (SELECT count(*) FROM drumline.schedule) AS schedules,
    (SELECT count(*) FROM drumline.task_live AS l WHERE l.state = 2) AS running,
    (SELECT count(*) FROM drumline.drain_copy) AS copies,
    (SELECT count(*) FROM drumline.job_ripple) + (SELECT count(*) FROM drumline.watch_ripple)
    + (SELECT count(*) FROM drumline.signal AS s WHERE s.task_id IS NULL AND s.taken_at IS NULL) AS ripples,
    (
        SELECT count(*)
        FROM (
            SELECT FROM drumline.outbox AS o
            WHERE
                EXISTS (SELECT FROM drumline.event_cursor)
                AND (o.position IS NULL OR o.position > (SELECT min(c.position) FROM drumline.event_cursor AS c))
            LIMIT :most
        ) AS row
    ) AS unread
