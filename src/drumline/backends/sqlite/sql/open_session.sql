-- open a session: register a worker.
INSERT INTO session (id, spec, opened_at, beat_at, last_beat_at) VALUES (?, ?, ?, ?, ?)
