-- reap: how often each open session has beaten.
SELECT s.id, s.beat FROM drumline.session AS s WHERE s.closed_at IS NULL
