-- give up what waits to be delivered for a subscription that is no more.
--   transition  pending -> failed
UPDATE delivery SET state = 2, next_at = NULL, holder = 0, error = :error, finished_at = :now
WHERE subscription = :subscription AND state = 0
