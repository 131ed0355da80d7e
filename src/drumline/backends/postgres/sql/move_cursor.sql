-- move a cursor: only by its holder, and only from where the holder saw it.
UPDATE drumline.event_cursor AS c
SET position = :new::int8, moved_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
WHERE c.consumer = :consumer::text AND c.holder = :holder::int8 AND c.position = :old::int8
RETURNING c.position
