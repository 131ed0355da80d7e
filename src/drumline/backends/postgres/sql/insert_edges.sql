-- submit: which tasks need which.
--   :parents, :children  arrays of equal length
INSERT INTO drumline.task_edge (parent, child)
SELECT g.parent, g.child FROM unnest(:parents::uuid [], :children::uuid []) AS g (parent, child)
