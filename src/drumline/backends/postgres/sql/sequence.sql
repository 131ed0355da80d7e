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
