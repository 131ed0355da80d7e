-- sweep: what is paused, without counting what waits there.
SELECT tenant, queue FROM queue_pause ORDER BY tenant, queue
