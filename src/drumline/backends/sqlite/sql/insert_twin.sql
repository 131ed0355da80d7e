-- sort keys: give the twin of a lane a number.
INSERT INTO lane (tenant, queue, name, priority, is_keyed) VALUES (?, ?, ?, ?, 1)
ON CONFLICT DO NOTHING
