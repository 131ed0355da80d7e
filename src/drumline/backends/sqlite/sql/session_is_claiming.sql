-- claim: one row if the session is open and takes tasks.
SELECT 1 FROM session WHERE id = :session AND closed_at IS NULL AND should_drain = 0
