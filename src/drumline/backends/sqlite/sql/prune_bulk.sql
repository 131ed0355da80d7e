-- prune: forget a bulk operation whose tasks are forgotten.
DELETE FROM bulk WHERE id = :id
