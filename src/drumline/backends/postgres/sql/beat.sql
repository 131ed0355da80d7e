-- beat: note signs of life, and find the leases that are not the session's any more or whose task should stop.
--   :sessions, :firsts, :lasts   each session once, sorted; what it holds is tasks[first..last]
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
        ]
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
