-- Blocked tasks by lane (major 1), so that they are counted and found without reading the tasks that wait or run. Only
-- tasks that are blocked have no due time, and a claim does not change it: claims stay HOT.
CREATE INDEX task_live_blocked ON drumline.task_live (lane, id) WHERE due_at IS NULL;
