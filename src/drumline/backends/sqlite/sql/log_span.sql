-- read events: the name of the log, the last position that was dropped, and the last one there was.
SELECT
    log.name,
    coalesce((SELECT min(seq) - 1 FROM outbox), last.seq, 0),
    coalesce(last.seq, 0)
FROM event_log AS log
LEFT JOIN sqlite_sequence AS last ON last.name = 'outbox'
