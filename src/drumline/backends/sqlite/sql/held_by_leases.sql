-- settle, standing, beat: the running tasks whose current lease is in a list.
--   fence   epoch and nonce both match
--   :batch  JSON list whose items begin with [id, epoch, nonce]
-- GIVES one JSON list of
--   [position in batch, lane, attempt, failures, crashes, session, started_at, due_at, cancel_requested, in_job]
SELECT json_group_array(json_array(
    given.key, live.lane, live.attempt, live.failures, live.crashes,
    live.session, live.started_at, live.due_at, live.cancel_requested, live.in_job
))
FROM json_each(:batch) AS given
CROSS JOIN task_live AS live
WHERE
    live.id = json_extract(given.value, '$[0]')
    AND live.state = 2
    AND live.epoch = json_extract(given.value, '$[1]')
    AND live.nonce = json_extract(given.value, '$[2]')
