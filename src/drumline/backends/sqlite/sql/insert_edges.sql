-- submit: which tasks need which.
--   :batch  JSON list of [parent, child]
INSERT INTO task_edge (parent, child)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]')
FROM json_each(:batch)
