-- list: the newest tasks below :before.
SELECT task.id FROM drumline.task
WHERE task.id < :before::uuid
ORDER BY task.id DESC
LIMIT :limit::int4
