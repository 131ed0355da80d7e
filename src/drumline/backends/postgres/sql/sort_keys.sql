-- sort keys: put tasks into the twin of their lane, under their keys.
UPDATE drumline.task_live AS live
SET lane = :twin::int4, limit_key = g.key
FROM unnest(:tasks::uuid [], :keys::int4 []) AS g (id, key)
WHERE live.id = g.id
