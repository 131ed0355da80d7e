-- read events: the name of the log, the last position that was dropped, and the last one that was given.
SELECT
    log.name,
    coalesce((SELECT min(o.position) - 1 FROM drumline.outbox AS o WHERE o.position IS NOT NULL), log.position) AS dropped,
    log.position AS last
FROM drumline.event_log AS log
