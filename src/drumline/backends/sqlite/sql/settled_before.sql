-- settle: what leases that are not current were settled as, if they were.
--   :batch  JSON list whose items begin with [id, epoch, nonce]
-- GIVES one JSON list of [position in batch, outcome]
SELECT json_group_array(json_array(given.key, attempt.outcome))
FROM json_each(:batch) AS given
CROSS JOIN attempt
WHERE
    attempt.task_id = json_extract(given.value, '$[0]')
    AND attempt.epoch = json_extract(given.value, '$[1]')
    AND attempt.nonce = json_extract(given.value, '$[2]')
