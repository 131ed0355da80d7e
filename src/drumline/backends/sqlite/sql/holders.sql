-- log: who ran executions, whether they have ended or not, and with which nonce.
--   :batch  JSON list of [id, epoch]
SELECT given.key, attempt.session, attempt.nonce
FROM json_each(:batch) AS given
CROSS JOIN attempt
WHERE
    attempt.task_id = json_extract(given.value, '$[0]')
    AND attempt.epoch = json_extract(given.value, '$[1]')
UNION ALL
SELECT given.key, live.session, live.nonce
FROM json_each(:batch) AS given
CROSS JOIN task_live AS live
WHERE
    live.id = json_extract(given.value, '$[0]')
    AND live.state = 2
    AND live.epoch = json_extract(given.value, '$[1]')
