-- resume a queue.
DELETE FROM drumline.queue_pause WHERE tenant = :tenant::text AND queue = :queue::text
RETURNING queue
