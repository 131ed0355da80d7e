-- list: the newest tasks below :before that carry a tag.
SELECT task.id FROM drumline.task
WHERE
    task.options LIKE '%"tags"%'
    AND (task.options::jsonb -> 'tags') ? :tag::text
    AND task.id < :before::uuid
    AND (:lanes::int4 [] IS NULL OR task.lane = any(:lanes))
ORDER BY task.id DESC
LIMIT :limit::int4
