-- pause a queue; pausing again changes the reason.
INSERT INTO queue_pause (tenant, queue, reason, paused_at) VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET reason = excluded.reason
