-- Blocked tasks by lane (major 1), so that they are counted and found without reading the tasks that wait or run.
CREATE INDEX task_live_blocked ON task_live (lane) WHERE state = 0;
