-- record: write what became of a try.
--   transition  pending -> pending (due again), delivered, failed
--   fence       :holder still has it
UPDATE delivery
SET
    state = :state,
    holder = 0,
    next_at = CASE WHEN :state = 0 THEN :now + :delay END,
    finished_at = CASE WHEN :state <> 0 THEN :now END,
    status = :status,
    response = :response,
    error = :error,
    latency_ms = :latency
WHERE id = :id AND state = 0 AND holder = :holder
RETURNING subscription
