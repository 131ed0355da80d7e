-- name: excuse_claims
-- beat: let the next beat of sessions not count against their claims. A claim that another statement has at hand is
-- passed over: either it is being forgotten, or another beat excuses it.
UPDATE drumline.claim AS c SET beat = c.beat + 1
FROM (
    SELECT claim.ctid AS place FROM drumline.claim
    WHERE claim.session = any(:sessions::int8 [])
    FOR UPDATE SKIP LOCKED
) AS held
WHERE c.ctid = held.place

-- name: beat
-- beat: note signs of life, and find the leases that are not the session's any more or whose task should stop.
--   :sessions, :firsts, :lasts   each session once, sorted; what it holds is tasks[first..last]
--   :memories, :cpus   what each session uses, NULL where it does not say
--   :owners, :tasks, :epochs, :nonces   the leases, and whose each is said to be
-- GIVES the open sessions (place NULL), and the leases to speak of by their place
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

beaten AS (
    UPDATE drumline.session AS s
    SET
        beat = s.beat + 1,
        beat_at = (SELECT clock.now FROM clock),
        held = (:tasks::uuid [])[
            (:firsts::int4 [])[width_bucket(s.id, :sessions::int8 [])]
            :(:lasts::int4 [])[width_bucket(s.id, :sessions)]
        ],
        memory = (:memories::int8 [])[width_bucket(s.id, :sessions)],
        cpu = (:cpus::float8 [])[width_bucket(s.id, :sessions)]
    WHERE s.id = any(:sessions) AND s.closed_at IS NULL
    RETURNING s.id, s.should_drain
)

SELECT beaten.id AS session, NULL::int8 AS place, beaten.should_drain, false AS is_lost, false AS is_cancelled
FROM beaten
UNION ALL
SELECT
    g.owner,
    g.place,
    false,
    live.session IS DISTINCT FROM g.owner,
    coalesce(live.cancel_requested, false)
FROM
    unnest(:owners::int8 [], :tasks, :epochs::int4 [], :nonces::int8 [])
    WITH ORDINALITY AS g (owner, task, epoch, nonce, place)
LEFT JOIN LATERAL (
    SELECT l.session, l.cancel_requested
    FROM drumline.task_live AS l
    WHERE l.id = g.task AND l.epoch = g.epoch AND l.nonce = g.nonce AND l.state = 2
    OFFSET 0
) AS live ON true
WHERE live.session IS DISTINCT FROM g.owner OR live.cancel_requested

-- name: reap_alone
-- reap: whether this pass is the only one; another one under way does the same work.
SELECT pg_try_advisory_xact_lock(:key::int8) AS is_alone

-- name: orphans
-- reap: running tasks that no open session holds: what lock_orphans would lock, for those who lock their jobs first.
-- with the orphan of lock_orphans
SELECT orphan.id FROM orphan

-- name: forget_claims
-- reap: forget claims of which nothing is running any more.
DELETE FROM drumline.claim USING drumline.session AS s
WHERE
    claim.session = s.id
    AND (s.closed_at IS NOT NULL OR s.beat >= claim.beat + 2)
    AND NOT EXISTS (
        SELECT FROM drumline.task_live AS live
        WHERE
            live.id = any(claim.tasks)
            AND live.state = 2
            AND live.session = s.id -- the claim's too; said of s, so that only the tasks of old claims are looked at
            AND live.nonce = claim.nonce
        OFFSET 0 -- no join: it would read the whole table
    )

-- name: lock_orphans
-- reap: lock running tasks that no open session holds.
-- GIVES tasks whose session died, and ghosts: tasks whose session closed in order without settling them, or is open
-- and has beaten twice since it was given them without naming them in its last beat
--   :in_job  whether their ends have consequences in jobs or for tasks that started them
--   :only    only these, whose jobs are locked; NULL means all
-- They are found first and locked afterwards, so that they are locked in order, and nothing else is.
WITH orphan AS MATERIALIZED (
    SELECT lost.id, s.id AS session, claim.nonce, NOT s.is_dead AS is_ghost
    FROM drumline.claim
    INNER JOIN drumline.session AS s
        ON claim.session = s.id AND (s.closed_at IS NOT NULL OR s.beat >= claim.beat + 2)
    CROSS JOIN LATERAL (
        SELECT l.id
        FROM drumline.task_live AS l
        WHERE
            l.id = any(claim.tasks)
            AND l.state = 2
            AND l.session = s.id
            AND l.nonce = claim.nonce
            AND (s.closed_at IS NOT NULL OR l.id <> all(s.held))
            AND (l.in_job OR l.family > 0) = :in_job::bool
            AND (:only::uuid [] IS NULL OR l.id = any(:only))
        OFFSET 0 -- no join: it would read the whole table, each second
    ) AS lost
    ORDER BY lost.id
    LIMIT :limit::int4
)

SELECT
    live.id, live.epoch, live.nonce, live.lane, live.due_at, live.attempt, live.failures, live.crashes,
    live.session, live.started_at, live.cancel_requested, orphan.is_ghost
FROM orphan
INNER JOIN drumline.task_live AS live
    ON
        orphan.id = live.id
        AND live.state = 2
        AND orphan.session = live.session
        AND orphan.nonce = live.nonce
ORDER BY live.id
FOR UPDATE OF live

-- name: reap_sessions
-- reap: close the sessions whose beat number is still the one observed.
UPDATE drumline.session AS s
SET closed_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8), is_dead = true
FROM unnest(:sessions::int8 [], :beats::int4 []) AS g (session, beat)
WHERE s.id = g.session AND s.beat = g.beat AND s.closed_at IS NULL
RETURNING s.id, s.spec
