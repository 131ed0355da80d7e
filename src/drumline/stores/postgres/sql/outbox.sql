-- name: insert_outbox
-- every act that is not hot: write changes of tasks into the outbox, in the transaction that makes them.
--   :tasks …  arrays of equal length
INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
VALUES (
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    :tasks::uuid [], :acts::int2 [], :states::int2 [], :epochs::int4 []
)

-- name: insert_facts
-- tell facts: write changes of anything but tasks into the outbox.
--   :facts  a JSON list of [type, subject, tenant, data]
INSERT INTO drumline.outbox (at, tasks, acts, states, epochs, facts)
VALUES (coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8), '{}', '{}', '{}', '{}', :facts::text)

-- name: sequence
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

-- name: read_outbox
-- read events: the rows behind a position, with the number of acts in each, and with their facts.
SELECT o.position, o.at, cardinality(o.acts) AS count, o.facts
FROM drumline.outbox AS o
WHERE o.position > :after::int8
ORDER BY o.position
LIMIT :limit::int4

-- name: prune_events
-- prune events: drop rows that every consumer has passed on, those written before a time and all but the last :most.
-- Only the first :limit are looked at: they were written in the order of time, nearly.
-- GIVES how many were dropped
WITH bound AS MATERIALIZED (
    SELECT
        least((SELECT min(c.position) FROM drumline.event_cursor AS c), log.position) AS passed,
        log.position - :most::int8 AS crowded
    FROM drumline.event_log AS log
),

gone AS (
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
)

SELECT count(*) AS count FROM gone

-- name: read_acts
-- read events: the acts on tasks in some rows, with what is known of each task, of its execution, and of where it
-- stands now, where that can matter.
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
ORDER BY o.position, e.place

-- name: last_chunks
-- read events: the last pieces that attempts logged, of each the last one first.
--   :tasks, :epochs  arrays of equal length
SELECT g.place, l.text
FROM unnest(:tasks::uuid [], :epochs::int4 []) WITH ORDINALITY AS g (task, epoch, place)
CROSS JOIN LATERAL (
    SELECT task_log.seq, task_log.text
    FROM drumline.task_log
    WHERE task_log.task_id = g.task AND task_log.epoch = g.epoch
    ORDER BY task_log.seq DESC
    LIMIT :limit::int4
) AS l
ORDER BY g.place, l.seq DESC

-- name: pick_rows
-- pick events: the rows behind a position; whether any of the ends looked for is in them, and their facts.
--   :states  numbers of states after which somebody may want to be told
SELECT o.position, o.at, o.states && :states::int2 [] AS has_ends, o.facts
FROM drumline.outbox AS o
WHERE o.position > :after::int8 AND o.position <= :until::int8
ORDER BY o.position
LIMIT :limit::int4

-- name: pick_acts
-- pick events: the ends of tasks in some rows that somebody may want to be told of, as read_acts.sql gives them.
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

-- name: ends_in_jobs
-- notify: tasks of jobs whose last execution ended in a given way, for messages about the jobs.
--   :newest  true: the one that ended last comes first; false: the one that ended first
-- GIVES the place of the job, and its tasks in that order
SELECT given.place, found.key, found.task, found.lane, found.epoch, found.error
FROM unnest(:jobs::uuid []) WITH ORDINALITY AS given (job, place)
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
ORDER BY given.place, found.rank, found.task
