-- cancel: note that a job is to stop.
UPDATE job SET cancel_requested = 1, reason = coalesce(:reason, reason) WHERE id = :job
