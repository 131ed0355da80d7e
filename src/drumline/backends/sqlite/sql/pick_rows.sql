-- pick events: the rows behind a position; their acts only if somebody may want to be told of one, and if one of them
-- can have ended a task.
SELECT
    seq,
    at,
    CASE
        WHEN
            :looks AND (
                instr(events, '"complete"') OR instr(events, '"fail"') OR instr(events, '"stop"')
                OR instr(events, 'cancel"') OR instr(events, '"skip"')
            )
            THEN events
        ELSE '[]'
    END AS events,
    facts
FROM outbox
WHERE seq > :after AND seq <= :until
ORDER BY seq
LIMIT :limit
