-- name: get_dead_letters
-- dead letters: those of tasks.
SELECT
    d.task_id, c.lane, d.at, d.epoch, d.reason, c.fingerprint, c.kind, d.message, d.attempts, d.job_id
FROM drumline.dead_letter AS d
CROSS JOIN LATERAL (
    SELECT cause.lane, cause.fingerprint, cause.kind FROM drumline.cause WHERE cause.id = d.cause OFFSET 0
) AS c
WHERE d.task_id = any(:ids::uuid [])

-- name: dead_letter_groups
-- dead letters: groups of one fingerprint, from the counts of their causes. What is NULL does not narrow.
--   :by_count              to sort by the count, else by when it was last seen
--   :below, :below_group   the value that the last group of the page before is sorted by, and its fingerprint
SELECT g.fingerprint, g.kind, g.message, g.count, g.first_at, g.last_at, g.names, g.queues
FROM (
    SELECT
        c.fingerprint,
        min(c.kind) AS kind,
        min(c.message) AS message,
        sum(c.count)::int8 AS count,
        min(c.first_at) AS first_at,
        max(c.last_at) AS last_at,
        array_agg(DISTINCT lane.name) AS names,
        array_agg(DISTINCT lane.queue) AS queues,
        CASE WHEN :by_count::bool THEN sum(c.count)::int8 ELSE max(c.last_at) END AS value
    FROM drumline.cause AS c
    INNER JOIN drumline.lane ON c.lane = lane.id
    WHERE
        c.count > 0
        AND (:tenant::text IS NULL OR lane.tenant = :tenant)
        AND (:queue::text IS NULL OR lane.queue = :queue)
        AND (:name::text IS NULL OR lane.name = :name)
        AND (:fingerprint::text IS NULL OR c.fingerprint = :fingerprint)
        AND (:kind::text IS NULL OR c.kind = :kind)
    GROUP BY c.fingerprint
) AS g
WHERE :below::int8 IS NULL OR (g.value, g.fingerprint) < (:below, :below_group::text)
ORDER BY g.value DESC, g.fingerprint DESC
LIMIT :limit::int4

-- name: reasons
-- relay: why attempts were the last of their tasks, whether their dead letters are still there or not.
--   :ids, :attempts  arrays of equal length
-- GIVES the place of each that is known, and its reason
SELECT given.place, coalesce(letter.reason, died.reason) AS reason
FROM unnest(:ids::uuid [], :attempts::int4 []) WITH ORDINALITY AS given (id, attempt, place)
CROSS JOIN LATERAL (
    SELECT a.epoch, a.reason FROM drumline.attempt AS a
    WHERE a.task_id = given.id AND a.attempt = given.attempt AND a.outcome = 4
    OFFSET 0
) AS died
LEFT JOIN LATERAL (
    SELECT d.reason FROM drumline.dead_letter AS d WHERE d.task_id = given.id AND d.epoch = died.epoch OFFSET 0
) AS letter ON true
WHERE coalesce(letter.reason, died.reason) IS NOT NULL

-- name: payload_edits
-- dead letters: what a task was given before.
SELECT e.epoch, e.at, e.payload FROM drumline.payload_edit AS e
WHERE
    e.task_id = :id::uuid
    AND (
        :tenant::text IS NULL
        OR EXISTS (
            SELECT FROM drumline.task INNER JOIN drumline.lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
ORDER BY e.epoch

-- name: find_causes
-- dead letters: the causes that a filter means. What is NULL does not narrow.
SELECT c.id
FROM drumline.cause AS c
INNER JOIN drumline.lane ON c.lane = lane.id
WHERE
    c.count > 0
    AND (:tenant::text IS NULL OR lane.tenant = :tenant)
    AND (:queue::text IS NULL OR lane.queue = :queue)
    AND (:name::text IS NULL OR lane.name = :name)
    AND (:fingerprint::text IS NULL OR c.fingerprint = :fingerprint)
    AND (:kind::text IS NULL OR c.kind = :kind)

-- name: write_dead_letters
-- fail: write the dead letters of attempts that this transaction has recorded, and count them to their causes.
--   :ids …  arrays of equal length, each task once
--   locks   causes in the order of (lane, fingerprint)
WITH given AS MATERIALIZED (
    SELECT g.id, g.epoch, g.reason, g.fingerprint, g.kind, g.message, g.said, a.lane, a.attempt, a.finished_at
    FROM
        unnest(
            :ids::uuid [], :epochs::int4 [], :reasons::text [], :fingerprints::text [], :kinds::text [],
            :messages::text [], :said::text []
        ) AS g (id, epoch, reason, fingerprint, kind, message, said)
    CROSS JOIN LATERAL (
        SELECT attempt.lane, attempt.attempt, attempt.finished_at
        FROM drumline.attempt
        WHERE attempt.task_id = g.id AND attempt.epoch = g.epoch
        OFFSET 0
    ) AS a
),

counted AS (
    INSERT INTO drumline.cause AS c (lane, fingerprint, kind, message, count, first_at, last_at)
    SELECT g.lane, g.fingerprint, min(g.kind), min(g.message), count(*), min(g.finished_at), max(g.finished_at)
    FROM given AS g
    GROUP BY g.lane, g.fingerprint
    ORDER BY g.lane, g.fingerprint
    ON CONFLICT (lane, fingerprint) DO UPDATE
    SET count = c.count + excluded.count, last_at = greatest(c.last_at, excluded.last_at)
    RETURNING c.id, c.lane, c.fingerprint
)

INSERT INTO drumline.dead_letter (task_id, at, cause, epoch, attempts, reason, message, job_id, tags)
SELECT
    g.id, g.finished_at, c.id, g.epoch, g.attempt, g.reason, g.said,
    (SELECT t.job_id FROM drumline.job_task AS t WHERE t.task_id = g.id),
    (SELECT task.options::jsonb -> 'tags' FROM drumline.task WHERE task.id = g.id)
FROM given AS g
INNER JOIN counted AS c ON g.lane = c.lane AND g.fingerprint = c.fingerprint

-- name: drop_dead_letters
-- retry, discard, prune: drop the dead letters of tasks, if they have any, and count them to their causes no more.
-- Why they died stays with the attempts that failed: a dead letter may be told of after it is gone.
--   locks  causes in the order of (lane, fingerprint)
WITH gone AS (
    DELETE FROM drumline.dead_letter WHERE dead_letter.task_id = any(:ids::uuid [])
    RETURNING dead_letter.task_id, dead_letter.epoch, dead_letter.cause, dead_letter.reason
),

remembered AS (
    UPDATE drumline.attempt AS a
    SET reason = (SELECT gone.reason FROM gone WHERE gone.task_id = a.task_id)
    WHERE a.task_id = any(:ids) AND a.epoch = (SELECT gone.epoch FROM gone WHERE gone.task_id = a.task_id)
),

counts AS MATERIALIZED (
    SELECT gone.cause, count(*) AS count FROM gone GROUP BY gone.cause
),

locked AS MATERIALIZED (
    SELECT c.id FROM drumline.cause AS c
    WHERE c.id = any(ARRAY(SELECT counts.cause FROM counts))
    ORDER BY c.lane + 0, c.fingerprint -- not by the index that has this order, which would be read whole
    FOR UPDATE
)

UPDATE drumline.cause AS c
SET count = c.count - (SELECT counts.count FROM counts WHERE counts.cause = c.id)
WHERE c.id = any(ARRAY(SELECT locked.id FROM locked))

-- name: find_dead_letters_of_job
-- dead letters: the latest of one job below (:before_at, :before_task). What is NULL does not narrow.
SELECT d.at, d.task_id FROM drumline.dead_letter AS d
WHERE
    d.job_id = :job::uuid
    AND (d.at, d.task_id) < (:before_at::int8, :before_task::uuid)
    AND d.at >= :since::int8
    AND d.at < :until::int8
    AND (:causes::int8 [] IS NULL OR d.cause = any(:causes))
    AND (:reason::text IS NULL OR d.reason = :reason)
    AND (:tag::text IS NULL OR d.tags ? :tag)
ORDER BY d.at DESC, d.task_id DESC
LIMIT :limit::int4

-- name: find_dead_letters
-- dead letters: the latest below (:before_at, :before_task). What is NULL does not narrow.
SELECT d.at, d.task_id FROM drumline.dead_letter AS d
WHERE
    (d.at, d.task_id) < (:before_at::int8, :before_task::uuid)
    AND d.at >= :since::int8
    AND d.at < :until::int8
    AND (:causes::int8 [] IS NULL OR d.cause = any(:causes))
    AND (:reason::text IS NULL OR d.reason = :reason)
    AND (:tag::text IS NULL OR d.tags ? :tag)
ORDER BY d.at DESC, d.task_id DESC
LIMIT :limit::int4

-- name: find_dead_letters_of_causes
-- dead letters: the latest of some causes below (:before_at, :before_task). What is NULL does not narrow.
SELECT head.at, head.task_id
FROM unnest(:causes::int8 []) AS g (cause)
CROSS JOIN LATERAL (
    SELECT d.at, d.task_id FROM drumline.dead_letter AS d
    WHERE
        d.cause = g.cause
        AND (d.at, d.task_id) < (:before_at::int8, :before_task::uuid)
        AND d.at >= :since::int8
        AND d.at < :until::int8
        AND (:reason::text IS NULL OR d.reason = :reason)
        AND (:tag::text IS NULL OR d.tags ? :tag)
    ORDER BY d.at DESC, d.task_id DESC
    LIMIT :limit::int4
) AS head
ORDER BY head.at DESC, head.task_id DESC
LIMIT :limit
