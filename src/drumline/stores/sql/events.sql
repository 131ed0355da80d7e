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

-- name: sequence (postgres)
-- sequence: give positions to committed rows that have none, in the order of seq.
--   The lock on the one row of event_log makes one sequencer at a time; who does not get it gives nothing. A sequencer
--   that began to look before the last one had ended may meet rows that have a position by now: those are left alone,
--   and its own positions go on from the last one's, since the lock shows it the newest version of the row.
-- GIVES how many were given a position
WITH log AS MATERIALIZED (
    SELECT event_log.position FROM drumline.event_log
    WHERE EXISTS (SELECT FROM drumline.outbox AS o WHERE o.position IS NULL) -- a lock is a write, and nothing is idle
    FOR UPDATE SKIP LOCKED
),

fresh AS MATERIALIZED (
    SELECT array(
        SELECT first.seq FROM drumline.outbox AS first
        WHERE first.position IS NULL AND EXISTS (SELECT FROM log)
        ORDER BY first.seq
        LIMIT :limit::int4
    ) AS seqs
),

given AS (
    -- Looked up by a list: a plan that was made when the table was empty would hold every row against every other.
    UPDATE drumline.outbox AS o
    SET position = (SELECT log.position FROM log) + width_bucket(o.seq, (SELECT fresh.seqs FROM fresh))
    WHERE o.seq = any((SELECT fresh.seqs FROM fresh)::int8 []) AND o.position IS NULL
    RETURNING o.position
),

noted AS (
    UPDATE drumline.event_log AS l
    SET position = (SELECT max(given.position) FROM given)
    WHERE EXISTS (SELECT FROM given)
)

SELECT count(*) AS count FROM given

-- name: sequence (sqlite)
-- One writer commits at a time: the number of a row is its position.
SELECT 0 * :limit

-- name: read_outbox (postgres)
-- read events: the rows behind a position, with the number of acts in each, and with their facts.
SELECT o.position, o.at, cardinality(o.acts) AS count, o.facts
FROM drumline.outbox AS o
WHERE o.position > :after::int8
ORDER BY o.position
LIMIT :limit::int4

-- name: read_outbox (sqlite)
SELECT seq, at, json_array_length(events), facts FROM outbox WHERE seq > :after ORDER BY seq LIMIT :limit

-- name: prune_events (postgres)
-- prune events: drop rows that every consumer has passed on, those written before a time and all but the last :most.
-- Only the first :limit are looked at: they were written in the order of time, nearly.
WITH bound AS MATERIALIZED (
    SELECT
        least((SELECT min(c.position) FROM drumline.event_cursor AS c), log.position) AS passed,
        log.position - :most::int8 AS crowded
    FROM drumline.event_log AS log
)

DELETE FROM drumline.outbox
WHERE outbox.position IN (
    SELECT o.position
    FROM (
        SELECT first.position, first.at FROM drumline.outbox AS first
        WHERE first.position IS NOT NULL
        ORDER BY first.position
        LIMIT :limit::int4
    ) AS o, bound
    WHERE o.position <= bound.passed AND (o.at < :before::int8 OR o.position <= bound.crowded)
)
RETURNING outbox.position

-- name: prune_events (sqlite)
DELETE FROM outbox
WHERE
    seq IN (SELECT seq FROM outbox ORDER BY seq LIMIT :limit)
    AND seq <= coalesce((SELECT min(position) FROM event_cursor), seq)
    AND (at < :before OR seq <= (SELECT seq FROM sqlite_sequence WHERE name = 'outbox') - :most)
RETURNING seq

-- name: read_acts (postgres)
-- read events: the acts on tasks in some rows, with what is known of each task, of its execution, and of where it
-- stands now, where that can matter. In any order.
SELECT
    o.position, e.place - 1 AS place, o.at, e.task::text AS task, e.act, e.state, e.epoch,
    wide.lane, wide.options, wide.created_at, wide.due_at,
    past.attempt, past.session, past.started_at, past.finished_at, past.error,
    live.state AS live_state, live.epoch AS live_epoch, live.attempt AS live_attempt,
    live.session AS live_session, live.started_at AS live_started_at, live.due_at AS live_due_at
FROM drumline.outbox AS o
CROSS JOIN LATERAL
    unnest(o.tasks, o.acts, o.states, o.epochs) WITH ORDINALITY AS e (task, act, state, epoch, place)
LEFT JOIN LATERAL (
    SELECT task.lane, task.options, task.created_at, task.due_at FROM drumline.task WHERE task.id = e.task OFFSET 0
) AS wide ON true
LEFT JOIN LATERAL (
    SELECT attempt.attempt, attempt.session, attempt.started_at, attempt.finished_at, attempt.error
    FROM drumline.attempt
    WHERE attempt.task_id = e.task AND attempt.epoch = e.epoch AND e.epoch > 0
    OFFSET 0
) AS past ON true
LEFT JOIN LATERAL (
    SELECT task_live.state, task_live.epoch, task_live.attempt, task_live.session, task_live.started_at, task_live.due_at
    FROM drumline.task_live
    WHERE task_live.id = e.task AND (past.attempt IS NULL OR e.state = 1)
    OFFSET 0
) AS live ON true
WHERE o.position > :after::int8 AND o.position <= :until::int8

-- name: read_acts (sqlite)
-- GIVES one JSON list
SELECT
    json_group_array(
        json_array(
            e.position, e.place, e.at, e.task, e.act, e.state, e.epoch,
            wide.lane, wide.options, wide.created_at, wide.due_at,
            past.attempt, past.session, past.started_at, past.finished_at, past.error,
            live.state, live.epoch, live.attempt, live.session, live.started_at, live.due_at
        )
    )
FROM (
    SELECT
        o.seq AS position, act.key AS place, o.at,
        json_extract(act.value, '$[0]') AS task, json_extract(act.value, '$[1]') AS act,
        json_extract(act.value, '$[2]') AS state, json_extract(act.value, '$[3]') AS epoch
    FROM outbox AS o
    CROSS JOIN json_each(o.events) AS act
    WHERE o.seq > :after AND o.seq <= :until
) AS e
LEFT JOIN task AS wide ON e.task = wide.id
LEFT JOIN attempt AS past ON e.task = past.task_id AND e.epoch = past.epoch
LEFT JOIN task_live AS live ON e.task = live.id

-- name: last_chunks (postgres)
-- read events: the last pieces that attempts logged, of each the last one first.
--   :tasks, :epochs  arrays of equal length
SELECT g.task, g.epoch, l.text
FROM unnest(:tasks::uuid [], :epochs::int4 []) AS g (task, epoch)
CROSS JOIN LATERAL (
    SELECT task_log.seq, task_log.text
    FROM drumline.task_log
    WHERE task_log.task_id = g.task AND task_log.epoch = g.epoch
    ORDER BY task_log.seq DESC
    LIMIT :limit::int4
) AS l
ORDER BY g.task, g.epoch, l.seq DESC

-- name: last_chunks (sqlite)
SELECT g.task, g.epoch, l.text
FROM unnest(:tasks::uuid [], :epochs::int4 []) AS g (task, epoch)
CROSS JOIN task_log AS l ON g.task = l.task_id AND g.epoch = l.epoch
WHERE
    l.seq IN (
        SELECT piece.seq FROM task_log AS piece
        WHERE piece.task_id = g.task AND piece.epoch = g.epoch
        ORDER BY piece.seq DESC
        LIMIT :limit
    )
ORDER BY g.task, g.epoch, l.seq DESC

-- name: pick_rows (postgres)
-- pick events: the rows behind a position; whether any of the ends looked for is in them, and their facts.
--   :states  numbers of states after which somebody may want to be told
SELECT o.position, o.at, o.states && :states::int2 [] AS has_ends, o.facts
FROM drumline.outbox AS o
WHERE o.position > :after::int8 AND o.position <= :until::int8
ORDER BY o.position
LIMIT :limit::int4

-- name: pick_rows (sqlite)
-- Rows in which no act can have ended a task are told from their text.
SELECT
    seq,
    at,
    json_array_length(:states) > 0 AND (
        instr(events, '"complete"') OR instr(events, '"fail"') OR instr(events, '"stop"')
        OR instr(events, 'cancel"') OR instr(events, '"skip"')
    ) AS has_ends,
    facts
FROM outbox
WHERE seq > :after AND seq <= :until
ORDER BY seq
LIMIT :limit

-- name: pick_acts (postgres)
-- pick events: the ends of tasks in some rows that somebody may want to be told of, as read_acts gives them.
--   :looked  states that are looked at
--   :broad   those of them that are wanted of every task
--   :narrow  those that are wanted of tasks in :lanes; of all others only tasks that name targets themselves
SELECT
    o.position, e.place - 1 AS place, o.at, e.task::text AS task, e.act, e.state, e.epoch,
    wide.lane, wide.options, wide.created_at, wide.due_at,
    past.attempt, past.session, past.started_at, past.finished_at, past.error,
    NULL::int2 AS live_state, NULL::int4 AS live_epoch, NULL::int4 AS live_attempt,
    NULL::int8 AS live_session, NULL::int8 AS live_started_at, NULL::int8 AS live_due_at
FROM drumline.outbox AS o
CROSS JOIN LATERAL
    unnest(o.tasks, o.acts, o.states, o.epochs) WITH ORDINALITY AS e (task, act, state, epoch, place)
LEFT JOIN LATERAL (
    SELECT task.lane, task.options, task.created_at, task.due_at FROM drumline.task WHERE task.id = e.task OFFSET 0
) AS wide ON true
LEFT JOIN LATERAL (
    SELECT attempt.attempt, attempt.session, attempt.started_at, attempt.finished_at, attempt.error
    FROM drumline.attempt
    WHERE attempt.task_id = e.task AND attempt.epoch = e.epoch
    OFFSET 0
) AS past ON true
WHERE
    o.position = any(:positions::int8 [])
    AND e.state = any(:looked::int2 [])
    AND (
        e.state = any(:broad::int2 [])
        OR (
            e.state = any(:narrow::int2 [])
            AND (SELECT task.lane FROM drumline.task WHERE task.id = e.task) = any(:lanes::int4 [])
        )
        OR EXISTS (SELECT FROM drumline.task WHERE task.id = e.task AND task.options LIKE '%"notify"%' OFFSET 0)
    )
ORDER BY o.position, e.place

-- name: pick_acts (sqlite)
-- GIVES one JSON list
SELECT
    json_group_array(
        json_array(
            e.position, e.place, e.at, e.task, e.act, e.state, e.epoch,
            wide.lane, wide.options, wide.created_at, wide.due_at,
            past.attempt, past.session, past.started_at, past.finished_at, past.error,
            NULL, NULL, NULL, NULL, NULL, NULL
        )
    )
FROM (
    SELECT
        o.seq AS position, act.key AS place, o.at,
        json_extract(act.value, '$[0]') AS task, json_extract(act.value, '$[1]') AS act,
        json_extract(act.value, '$[2]') AS state, json_extract(act.value, '$[3]') AS epoch
    FROM outbox AS o
    CROSS JOIN json_each(o.events) AS act
    WHERE o.seq = any(:positions) AND json_extract(act.value, '$[2]') = any(:looked)
) AS e
LEFT JOIN task AS wide ON e.task = wide.id
LEFT JOIN attempt AS past ON e.task = past.task_id AND e.epoch = past.epoch
WHERE
    e.state = any(:broad)
    OR (e.state = any(:narrow) AND wide.lane = any(:lanes))
    OR instr(wide.options, '"notify"') > 0

-- name: ends_in_jobs (postgres)
-- notify: tasks of jobs whose last execution ended in a given way, for messages about the jobs.
--   :jobs    each once
--   :newest  true: the one that ended last comes first; false: the one that ended first
SELECT given.job, found.key, found.task, found.lane, found.epoch, found.error
FROM unnest(:jobs::uuid []) AS given (job)
CROSS JOIN LATERAL (
    SELECT
        member.key, member.task_id::text AS task, wide.lane, last.epoch, last.error,
        CASE WHEN :newest::bool THEN -last.finished_at ELSE last.finished_at END AS rank
    FROM (
        SELECT m.task_id, m.key FROM drumline.job_task AS m WHERE m.job_id = given.job OFFSET 0
    ) AS member
    CROSS JOIN LATERAL (
        SELECT a.epoch, a.outcome, a.finished_at, a.error
        FROM drumline.attempt AS a
        WHERE a.task_id = member.task_id
        ORDER BY a.epoch DESC
        LIMIT 1
    ) AS last
    CROSS JOIN LATERAL (
        SELECT task.lane FROM drumline.task WHERE task.id = member.task_id OFFSET 0
    ) AS wide
    WHERE last.outcome = :outcome::int2
    ORDER BY rank, member.task_id
    LIMIT :limit::int4
) AS found
ORDER BY given.job, found.rank, found.task

-- name: ends_in_jobs (sqlite)
SELECT job_id, key, task_id, lane, epoch, error
FROM (
    SELECT
        member.job_id, member.key, member.task_id, task.lane, last.epoch, last.error,
        row_number() OVER (
            PARTITION BY member.job_id
            ORDER BY CASE WHEN :newest THEN -last.finished_at ELSE last.finished_at END, member.task_id
        ) AS rank
    FROM unnest(:jobs::uuid []) AS given (job)
    CROSS JOIN job_task AS member ON given.job = member.job_id
    CROSS JOIN attempt AS last ON member.task_id = last.task_id
    CROSS JOIN task ON member.task_id = task.id
    WHERE
        last.outcome = :outcome
        AND last.epoch = (SELECT max(a.epoch) FROM attempt AS a WHERE a.task_id = member.task_id)
)
WHERE rank <= :limit
ORDER BY job_id, rank
