-- The words behind lane numbers.
--   :lanes  JSON list
SELECT id, tenant, queue, name, priority
FROM lane
WHERE id IN (SELECT value FROM json_each(:lanes))
