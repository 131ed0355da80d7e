-- artifact: keep a file; a later one of the same name replaces it.
INSERT INTO artifact (task_id, name, content_type, created_at, data) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET content_type = excluded.content_type, created_at = excluded.created_at, data = excluded.data
