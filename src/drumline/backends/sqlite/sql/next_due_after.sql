-- claim: when a lane's next task will be due that is not due yet; no row when it has none.
SELECT due_at FROM task_live
WHERE lane = :lane AND state = 1 AND due_at > :now
ORDER BY due_at
LIMIT 1
