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
