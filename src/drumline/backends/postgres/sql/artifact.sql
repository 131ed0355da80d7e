-- artifact: one file.
SELECT a.content_type, a.data FROM drumline.artifact AS a WHERE a.task_id = :id::uuid AND a.name = :name::text
