-- log: who ran executions, whether they have ended or not, and with which nonce.
SELECT g.place, a.session, a.nonce
FROM unnest(:ids::uuid [], :epochs::int4 []) WITH ORDINALITY AS g (id, epoch, place)
CROSS JOIN LATERAL (
    SELECT attempt.session, attempt.nonce
    FROM drumline.attempt
    WHERE attempt.task_id = g.id AND attempt.epoch = g.epoch
    OFFSET 0
) AS a
UNION ALL
SELECT g.place, l.session, l.nonce
FROM unnest(:ids::uuid [], :epochs::int4 []) WITH ORDINALITY AS g (id, epoch, place)
CROSS JOIN LATERAL (
    SELECT live.session, live.nonce
    FROM drumline.task_live AS live
    WHERE live.id = g.id AND live.state = 2 AND live.epoch = g.epoch
    OFFSET 0
) AS l
