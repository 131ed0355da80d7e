-- resend: let a delivery be tried again, now. A try that is under way loses it.
--   transition  any -> pending
UPDATE delivery SET state = 0, holder = 0, attempts = 0, finished_at = NULL, next_at = :now
WHERE id = :id AND (:tenant IS NULL OR tenant = :tenant)
