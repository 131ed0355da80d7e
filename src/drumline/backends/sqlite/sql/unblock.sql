-- every act that ends tasks: let blocked tasks wait to be claimed.
--   transition  blocked -> queued
--   :ids        JSON list; a task's own delay counts from now, and it is not due before its run_at
-- GIVES what waits now
UPDATE task_live
SET
    state = 1,
    due_at = max(:now + member.delay_ms, coalesce(member.run_at, 0))
FROM json_each(:ids) AS given, job_task AS member
WHERE task_live.id = given.value AND member.task_id = given.value AND task_live.state = 0
RETURNING id, lane, due_at, epoch
