-- retry, discard, prune: why tasks died stays with the attempts that failed, as their dead letters go.
--   :ids  JSON list
UPDATE attempt SET reason = letter.reason
FROM json_each(:ids) AS given, dead_letter AS letter
WHERE letter.task_id = given.value AND attempt.task_id = letter.task_id AND attempt.epoch = letter.epoch
