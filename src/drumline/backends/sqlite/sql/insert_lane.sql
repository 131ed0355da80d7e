-- submit, reschedule: give a lane a number.
INSERT INTO lane (tenant, queue, name, priority) VALUES (?, ?, ?, ?)
ON CONFLICT DO NOTHING
