-- start: note that tasks of jobs have been claimed.
--   :ids  JSON list
UPDATE job SET status = 2, started_at = :now, version = version + 1
WHERE id IN (SELECT value FROM json_each(:ids)) AND status = 1 AND started_at IS NULL
RETURNING id
