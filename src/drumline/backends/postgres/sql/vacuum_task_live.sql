-- tidy: make the room of dead rows usable again. Not while somebody else does so; and the file keeps its length, since
-- cutting it off would need a lock that all claims wait for, and it would grow again at once.
VACUUM (SKIP_LOCKED, TRUNCATE FALSE) drumline.task_live
