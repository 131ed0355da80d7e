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
