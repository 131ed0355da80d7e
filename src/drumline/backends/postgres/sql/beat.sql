-- beat: note signs of life, and find the leases that are not the session's any more or whose task should stop.
--   :sessions, :firsts, :lasts   each session once, sorted; what it holds is tasks[first..last]
--   :owners, :tasks, :epochs, :nonces   the leases, and whose each is said to be
-- GIVES the open sessions (place NULL), and the leases to speak of by their place
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

beaten AS (
    UPDATE drumline.session AS s
    SET beat = s.beat + 1, beat_at = clock.now, held = (:tasks::uuid [])[g.first:g.last]
    FROM unnest(:sessions::int8 [], :firsts::int4 [], :lasts::int4 []) AS g (session, first, last), clock
    WHERE s.id = g.session AND s.closed_at IS NULL
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
LEFT JOIN drumline.task_live AS live
    ON g.task = live.id AND g.epoch = live.epoch AND g.nonce = live.nonce AND live.state = 2
WHERE live.session IS DISTINCT FROM g.owner OR live.cancel_requested
