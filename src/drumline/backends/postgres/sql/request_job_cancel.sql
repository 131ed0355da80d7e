-- cancel: note that a job is to stop.
UPDATE drumline.job SET cancel_requested = true, reason = coalesce(:reason::text, reason) WHERE id = :job::uuid
