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

-- name: find_dead_letters_of_causes (postgres)
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

-- name: find_dead_letters_of_causes (sqlite)
SELECT d.at, d.task_id
FROM unnest(:causes::int8 []) AS g (cause)
CROSS JOIN dead_letter AS d
WHERE
    d.task_id IN (
        SELECT head.task_id FROM dead_letter AS head
        WHERE
            head.cause = g.cause
            AND (head.at, head.task_id) < (:before_at, :before_task)
            AND head.at >= :since
            AND head.at < :until
            AND (:reason IS NULL OR head.reason = :reason)
            AND (:tag IS NULL OR head.tags ? :tag)
        ORDER BY head.at DESC, head.task_id DESC
        LIMIT :limit
    )
ORDER BY d.at DESC, d.task_id DESC
LIMIT :limit

-- name: get_dead_letters (postgres)
-- dead letters: those of tasks.
SELECT
    d.task_id, c.lane, d.at, d.epoch, d.reason, c.fingerprint, c.kind, d.message, d.attempts, d.job_id
FROM drumline.dead_letter AS d
CROSS JOIN LATERAL (
    SELECT cause.lane, cause.fingerprint, cause.kind FROM drumline.cause WHERE cause.id = d.cause OFFSET 0
) AS c
WHERE d.task_id = any(:ids::uuid [])

-- name: get_dead_letters (sqlite)
SELECT
    d.task_id, c.lane, d.at, d.epoch, d.reason, c.fingerprint, c.kind, d.message, d.attempts, d.job_id
FROM dead_letter AS d
INNER JOIN cause AS c ON d.cause = c.id
WHERE d.task_id = any(:ids)

-- name: dead_letter_groups (postgres)
-- dead letters: groups of one fingerprint, from the counts of their causes. What is NULL does not narrow.
--   :by_count              to sort by the count, else by when it was last seen
--   :below, :below_group   the value that the last group of the page before is sorted by, and its fingerprint
--   GIVES  each with its latest dead letter as an example
SELECT
    g.fingerprint, g.kind, g.message, g.count, g.first_at, g.last_at, g.names, g.queues,
    example.task_id, example.message AS said
FROM (
    SELECT sorted.* FROM (
        SELECT
            c.fingerprint,
            min(c.kind) AS kind,
            min(c.message) AS message,
            array_agg(c.id) AS causes,
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
    ) AS sorted
    WHERE :below::int8 IS NULL OR (sorted.value, sorted.fingerprint) < (:below, :below_group::text)
    ORDER BY sorted.value DESC, sorted.fingerprint DESC
    LIMIT :limit::int4
) AS g
LEFT JOIN LATERAL (
    SELECT head.task_id, head.message
    FROM unnest(g.causes) AS one (cause)
    CROSS JOIN LATERAL (
        SELECT d.task_id, d.message, d.at FROM drumline.dead_letter AS d
        WHERE d.cause = one.cause
        ORDER BY d.at DESC, d.task_id DESC
        LIMIT 1
    ) AS head
    ORDER BY head.at DESC, head.task_id DESC
    LIMIT 1
) AS example ON true
ORDER BY g.value DESC, g.fingerprint DESC

-- name: dead_letter_groups (sqlite)
-- GIVES one JSON list
SELECT
    json_group_array(
        json_array(
            g.fingerprint, g.kind, g.message, g.count, g.first_at, g.last_at, json(g.names), json(g.queues),
            g.example, (SELECT d.message FROM dead_letter AS d WHERE d.task_id = g.example)
        )
    )
FROM (
    SELECT
        found.*,
        (
            SELECT d.task_id FROM json_each(found.causes) AS one CROSS JOIN dead_letter AS d
            WHERE
                d.cause = one.value
                AND d.at = (SELECT max(other.at) FROM dead_letter AS other WHERE other.cause = one.value)
            ORDER BY d.at DESC, d.task_id DESC
            LIMIT 1
        ) AS example
    FROM (
        SELECT
            c.fingerprint,
            min(c.kind) AS kind,
            min(c.message) AS message,
            json_group_array(c.id) AS causes,
            sum(c.count) AS count,
            min(c.first_at) AS first_at,
            max(c.last_at) AS last_at,
            json_group_array(DISTINCT lane.name) AS names,
            json_group_array(DISTINCT lane.queue) AS queues,
            CASE WHEN :by_count THEN sum(c.count) ELSE max(c.last_at) END AS value
        FROM cause AS c
        INNER JOIN lane ON c.lane = lane.id
        WHERE
            c.count > 0
            AND (:tenant IS NULL OR lane.tenant = :tenant)
            AND (:queue IS NULL OR lane.queue = :queue)
            AND (:name IS NULL OR lane.name = :name)
            AND (:fingerprint IS NULL OR c.fingerprint = :fingerprint)
            AND (:kind IS NULL OR c.kind = :kind)
        GROUP BY c.fingerprint
    ) AS found
    WHERE :below IS NULL OR (found.value, found.fingerprint) < (:below, :below_group)
    ORDER BY found.value DESC, found.fingerprint DESC
    LIMIT :limit
) AS g

-- name: reasons (postgres)
-- relay: why attempts were the last of their tasks, whether their dead letters are still there or not.
--   :ids, :attempts  arrays of equal length
SELECT given.id, given.attempt, coalesce(letter.reason, died.reason) AS reason
FROM unnest(:ids::uuid [], :attempts::int4 []) AS given (id, attempt)
CROSS JOIN LATERAL (
    SELECT a.epoch, a.reason FROM drumline.attempt AS a
    WHERE a.task_id = given.id AND a.attempt = given.attempt AND a.outcome = 4
    OFFSET 0
) AS died
LEFT JOIN LATERAL (
    SELECT d.reason FROM drumline.dead_letter AS d WHERE d.task_id = given.id AND d.epoch = died.epoch OFFSET 0
) AS letter ON true
WHERE coalesce(letter.reason, died.reason) IS NOT NULL

-- name: reasons (sqlite)
SELECT given.id, given.attempt, coalesce(letter.reason, died.reason)
FROM unnest(:ids::uuid [], :attempts::int4 []) AS given (id, attempt)
CROSS JOIN attempt AS died ON given.id = died.task_id
LEFT JOIN dead_letter AS letter ON died.task_id = letter.task_id AND died.epoch = letter.epoch
WHERE died.attempt = given.attempt AND died.outcome = 4 AND coalesce(letter.reason, died.reason) IS NOT NULL

-- name: payload_edits
-- dead letters: what a task was given before.
SELECT e.epoch, e.at, e.payload FROM drumline.payload_edit AS e
WHERE
    e.task_id = :id::uuid
    AND (
        :tenant::text IS NULL
        OR EXISTS (
            SELECT 1 FROM drumline.task INNER JOIN drumline.lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
ORDER BY e.epoch

-- name: lanes_of_tasks
-- discard: the lanes of tasks.
SELECT task.id, task.lane FROM drumline.task WHERE task.id = any(:ids::uuid [])

-- name: group_trends
-- dead letters: how many of each group failed in each of some stretches of time, counted up to :most for each cause.
--   :starts  when stretches begin, each :step long, the earliest first at :since
SELECT
    c.fingerprint,
    g.start,
    (
        SELECT count(*)
        FROM (
            SELECT 1 FROM drumline.dead_letter AS d
            WHERE d.cause = c.id AND d.at >= g.start AND d.at < g.start + :step::int8
            LIMIT :most::int4
        ) AS head
    ) AS count
FROM drumline.cause AS c
INNER JOIN drumline.lane ON c.lane = lane.id
CROSS JOIN unnest(:starts::int8 []) AS g (start)
WHERE
    c.fingerprint = any(:fingerprints::text [])
    AND c.count > 0
    AND c.last_at >= :since::int8
    AND (:tenant::text IS NULL OR lane.tenant = :tenant)
