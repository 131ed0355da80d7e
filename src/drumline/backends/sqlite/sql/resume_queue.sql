-- resume a queue.
DELETE FROM queue_pause WHERE tenant = ? AND queue = ?
