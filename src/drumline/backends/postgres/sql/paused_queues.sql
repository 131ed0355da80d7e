-- sweep: what is paused, without counting what waits there.
SELECT p.tenant, p.queue FROM drumline.queue_pause AS p ORDER BY p.tenant, p.queue
