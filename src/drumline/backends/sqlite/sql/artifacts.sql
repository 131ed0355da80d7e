-- artifacts: what files a task made.
SELECT name, content_type, length(data), created_at FROM artifact WHERE task_id = :id ORDER BY name
