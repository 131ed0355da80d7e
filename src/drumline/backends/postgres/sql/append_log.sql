-- log: keep pieces of logs; a piece that is there already is kept once.
INSERT INTO drumline.task_log (task_id, epoch, seq, text)
SELECT g.id, g.epoch, g.seq, g.text
FROM unnest(:ids::uuid [], :epochs::int4 [], :seqs::int4 [], :texts::text []) AS g (id, epoch, seq, text)
ON CONFLICT DO NOTHING
