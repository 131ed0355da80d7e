-- reschedule: change when a queued task is due, and its lane.
--   transition  queued -> queued
--   fence       epoch rises
UPDATE task_live SET due_at = :due_at, lane = :lane, epoch = epoch + 1 WHERE id = :id AND state = 1
