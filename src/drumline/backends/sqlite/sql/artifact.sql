-- artifact: one file.
SELECT content_type, data FROM artifact WHERE task_id = :id AND name = :name
