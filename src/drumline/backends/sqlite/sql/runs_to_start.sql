-- start runs: those of backfills whose time has come, the earliest first.
-- GIVES rows in the order of backends/schedule_rows.py: WaitingRow
SELECT run.schedule_id, schedule.tenant, schedule.name, schedule.target, run.fire_time, run.kind, 0
FROM schedule_run AS run
CROSS JOIN schedule ON run.schedule_id = schedule.id
WHERE run.state = 1 AND run.start_at IS NOT NULL AND run.start_at <= :now
ORDER BY run.start_at
LIMIT :limit
