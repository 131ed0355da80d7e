-- sort keys: give the twin of a lane a number.
INSERT INTO drumline.lane (tenant, queue, name, priority, is_keyed)
SELECT l.tenant, l.queue, l.name, l.priority, true FROM drumline.lane AS l WHERE l.id = :lane::int4
ON CONFLICT DO NOTHING
