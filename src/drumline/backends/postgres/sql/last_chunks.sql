-- read events: the last pieces that attempts logged, of each the last one first.
--   :tasks, :epochs  arrays of equal length
SELECT g.place, l.text
FROM unnest(:tasks::uuid [], :epochs::int4 []) WITH ORDINALITY AS g (task, epoch, place)
CROSS JOIN LATERAL (
    SELECT task_log.seq, task_log.text
    FROM drumline.task_log
    WHERE task_log.task_id = g.task AND task_log.epoch = g.epoch
    ORDER BY task_log.seq DESC
    LIMIT :limit::int4
) AS l
ORDER BY g.place, l.seq DESC
