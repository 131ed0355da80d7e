-- submit, resume: let tasks of jobs wait, to be claimed or to be released.
--   :batch  JSON list of [id, lane, due_at, state, epoch, attempt]; blocked ones have no due_at
INSERT INTO task_live (id, lane, due_at, state, epoch, attempt, in_job)
SELECT
    json_extract(value, '$[0]'),
    json_extract(value, '$[1]'),
    json_extract(value, '$[2]'),
    json_extract(value, '$[3]'),
    json_extract(value, '$[4]'),
    json_extract(value, '$[5]'),
    1
FROM json_each(:batch)
