-- cancel: ask a running task to stop; its worker is told at its next beat. Asked again, it changes nothing.
UPDATE task_live SET cancel_requested = 1 WHERE id = :id AND state = 2 AND NOT cancel_requested
