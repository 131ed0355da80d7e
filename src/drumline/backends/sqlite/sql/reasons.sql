-- relay: why attempts were the last of their tasks, whether their dead letters are still there or not.
--   :batch  JSON list of [task id, attempt]
-- GIVES the place of each that is known, and its reason
SELECT
    given.key AS place,
    coalesce(letter.reason, died.reason) AS reason
FROM json_each(:batch) AS given
CROSS JOIN attempt AS died ON json_extract(given.value, '$[0]') = died.task_id
LEFT JOIN dead_letter AS letter ON died.task_id = letter.task_id AND died.epoch = letter.epoch
WHERE
    died.attempt = json_extract(given.value, '$[1]')
    AND died.outcome = 4
    AND coalesce(letter.reason, died.reason) IS NOT NULL
