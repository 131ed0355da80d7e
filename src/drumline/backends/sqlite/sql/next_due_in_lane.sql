-- claim: when a lane's next task will be due; no row when it has none.
SELECT due_at FROM task_live
WHERE lane = :lane AND state = 1
ORDER BY due_at
LIMIT 1
