-- count: tasks that have not ended, of each status up to :limit, each by an index of its own.
--   :lanes   NULL means every lane
--   :looked  how many claimed tasks are looked at; old claims name tasks that have ended meanwhile
-- GIVES queued, due later, blocked, processing, and how many claimed tasks were looked at
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

wanted AS MATERIALIZED (
    SELECT lane.id FROM drumline.lane WHERE :lanes::int4 [] IS NULL OR lane.id = any(:lanes)
),

held AS MATERIALIZED (
    SELECT given.id, recent.session, recent.nonce
    FROM (
        SELECT c.session, c.nonce, c.tasks
        FROM drumline.claim AS c
        LEFT JOIN drumline.session AS s ON c.session = s.id
        ORDER BY s.beat - c.beat NULLS LAST
        OFFSET 0
    ) AS recent
    CROSS JOIN LATERAL unnest(recent.tasks) AS given (id)
    LIMIT :looked::int4
)

SELECT
    (
        SELECT count(*) FROM (
            SELECT FROM wanted
            CROSS JOIN LATERAL (
                SELECT FROM drumline.task_live AS l
                WHERE l.lane = wanted.id AND l.due_at <= (SELECT clock.now FROM clock) AND l.state = 1
                LIMIT :limit::int4
            ) AS head
            LIMIT :limit
        ) AS found
    ) AS queued,
    (
        SELECT count(*) FROM (
            SELECT FROM wanted
            CROSS JOIN LATERAL (
                SELECT FROM drumline.task_live AS l
                WHERE l.lane = wanted.id AND l.due_at > (SELECT clock.now FROM clock) AND l.state = 1
                LIMIT :limit
            ) AS head
            LIMIT :limit
        ) AS found
    ) AS later,
    (
        SELECT count(*) FROM (
            SELECT FROM wanted
            CROSS JOIN LATERAL (
                SELECT FROM drumline.task_live AS l
                WHERE l.lane = wanted.id AND l.due_at IS NULL AND l.state = 0
                LIMIT :limit
            ) AS head
            LIMIT :limit
        ) AS found
    ) AS blocked,
    (
        SELECT count(*) FROM held
        CROSS JOIN LATERAL (
            SELECT FROM drumline.task_live AS l
            WHERE
                l.id = held.id
                AND l.state = 2
                AND l.session = held.session
                AND l.nonce = held.nonce
                AND (:lanes IS NULL OR l.lane = any(:lanes))
            OFFSET 0
        ) AS running
    ) AS processing,
    (SELECT count(*) FROM held) AS looked
