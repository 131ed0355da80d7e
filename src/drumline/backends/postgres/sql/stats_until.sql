-- gather stats: everything up to this place is counted.
UPDATE drumline.event_cursor AS c
SET position = :until::int8, moved_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
WHERE c.consumer = :consumer::text
