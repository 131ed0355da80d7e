-- reap: how often each open session has beaten.
SELECT id, beat FROM session WHERE closed_at IS NULL
