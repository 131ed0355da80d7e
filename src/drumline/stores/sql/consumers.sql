-- name: log_span (postgres)
-- read events: the name of the log, the last position that was dropped, and the last one that was given.
SELECT
    log.name,
    coalesce((SELECT min(o.position) - 1 FROM drumline.outbox AS o WHERE o.position IS NOT NULL), log.position) AS dropped,
    log.position AS last
FROM drumline.event_log AS log

-- name: log_span (sqlite)
-- read events: the name of the log, the last position that was dropped, and the last one there was.
SELECT
    log.name,
    coalesce((SELECT min(seq) - 1 FROM outbox), last.seq, 0),
    coalesce(last.seq, 0)
FROM event_log AS log
LEFT JOIN sqlite_sequence AS last ON last.name = 'outbox'

-- name: rename_log (postgres)
-- rename the log: its events have other ids from now on.
UPDATE drumline.event_log SET name = substr(md5(gen_random_uuid()::text), 1, 8)
RETURNING name

-- name: rename_log (sqlite)
-- rename the log: its events have other ids from now on.
UPDATE event_log SET name = lower(hex(randomblob(4)))
RETURNING name

-- name: take_cursor (postgres)
-- take a cursor: for the holder that has it already, or that finds it free. A new one begins at the start of the log.
-- GIVES where it stands; no row if another one has it
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
)

INSERT INTO drumline.event_cursor AS c (consumer, position, moved_at, holder, held_until)
SELECT
    :consumer::text,
    coalesce((SELECT min(o.position) - 1 FROM drumline.outbox AS o WHERE o.position IS NOT NULL), log.position),
    clock.now, :holder::int8, clock.now + :ms::int8
FROM clock, drumline.event_log AS log
ON CONFLICT (consumer) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
WHERE c.holder = excluded.holder OR c.held_until <= excluded.moved_at
RETURNING c.position

-- name: take_cursor (sqlite)
-- take a cursor: for the holder that has it already, or that finds it free. A new one begins at the start of the log.
INSERT INTO event_cursor (consumer, position, moved_at, holder, held_until)
VALUES (
    :consumer,
    coalesce(
        (SELECT min(seq) - 1 FROM outbox), (SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0
    ),
    :now, :holder, :now + :ms
)
ON CONFLICT (consumer) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
WHERE event_cursor.holder = excluded.holder OR event_cursor.held_until <= :now
RETURNING position

-- name: move_cursor
-- move a cursor: only by its holder, and only from where the holder saw it.
UPDATE drumline.event_cursor AS c
SET position = :new::int8, moved_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
WHERE c.consumer = :consumer::text AND c.holder = :holder::int8 AND c.position = :old::int8
RETURNING c.position

-- name: note_cursor
-- note why a consumer cannot pass events on, or with NULL that it can; only by the holder of its cursor.
UPDATE drumline.event_cursor AS c SET error = :error::text
WHERE c.consumer = :consumer::text AND c.holder = :holder::int8

-- name: leave_cursor
-- leave a cursor: let another holder have it at once.
UPDATE drumline.event_cursor AS c SET holder = 0, held_until = 0
WHERE c.consumer = :consumer::text AND c.holder = :holder::int8

-- name: forget_consumer
-- forget a consumer: nothing is kept for it any more.
DELETE FROM drumline.event_cursor AS c WHERE c.consumer = :consumer::text
RETURNING c.consumer

-- name: cursors (postgres)
-- cursors: where every consumer stands, how many rows are left to it, and when the first of them was written.
WITH unsequenced AS MATERIALIZED (
    SELECT count(*) AS count, (array_agg(o.at ORDER BY o.seq))[1] AS at
    FROM (
        SELECT first.seq, first.at FROM drumline.outbox AS first
        WHERE first.position IS NULL
        ORDER BY first.seq
        LIMIT 100000
    ) AS o
)

SELECT
    c.consumer, c.position, c.moved_at,
    log.position - c.position + unsequenced.count AS behind,
    coalesce(
        (SELECT o.at FROM drumline.outbox AS o WHERE o.position > c.position ORDER BY o.position LIMIT 1),
        unsequenced.at
    ) AS oldest_at,
    c.error
FROM drumline.event_cursor AS c, drumline.event_log AS log, unsequenced
ORDER BY c.consumer

-- name: cursors (sqlite)
-- cursors: where every consumer stands, how many rows are left to it, and when the first of them was written.
SELECT
    c.consumer,
    c.position,
    c.moved_at,
    coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0) - c.position,
    (SELECT at FROM outbox WHERE seq > c.position ORDER BY seq LIMIT 1),
    c.error
FROM event_cursor AS c
ORDER BY c.consumer
