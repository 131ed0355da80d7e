-- pause a queue; pausing again changes the reason.
INSERT INTO drumline.queue_pause (tenant, queue, reason, paused_at)
VALUES (:tenant::text, :queue::text, :reason::text, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8))
ON CONFLICT (tenant, queue) DO UPDATE SET reason = excluded.reason
