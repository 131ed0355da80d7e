-- upcoming: the earliest queued tasks of a lane that are due from :due_after on and before :due_before.
SELECT id, due_at FROM task_live
WHERE lane = :lane AND state = 1 AND due_at >= :due_after AND due_at < :due_before
ORDER BY due_at, id
LIMIT :limit
