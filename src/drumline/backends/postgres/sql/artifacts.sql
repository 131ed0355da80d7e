-- artifacts: what files a task made.
SELECT a.name, a.content_type, length(a.data) AS size, a.created_at
FROM drumline.artifact AS a
WHERE a.task_id = :id::uuid
ORDER BY a.name
