-- relay: why attempts were the last of their tasks, whether their dead letters are still there or not.
--   :ids, :attempts  arrays of equal length
-- GIVES the place of each that is known, and its reason
SELECT given.place, coalesce(letter.reason, died.reason) AS reason
FROM unnest(:ids::uuid [], :attempts::int4 []) WITH ORDINALITY AS given (id, attempt, place)
CROSS JOIN LATERAL (
    SELECT a.epoch, a.reason FROM drumline.attempt AS a
    WHERE a.task_id = given.id AND a.attempt = given.attempt AND a.outcome = 4
    OFFSET 0
) AS died
LEFT JOIN LATERAL (
    SELECT d.reason FROM drumline.dead_letter AS d WHERE d.task_id = given.id AND d.epoch = died.epoch OFFSET 0
) AS letter ON true
WHERE coalesce(letter.reason, died.reason) IS NOT NULL
