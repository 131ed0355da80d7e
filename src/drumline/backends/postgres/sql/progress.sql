-- progress: how far the attempts are that run now.
SELECT p.task_id, p.done, p.total, p.message
FROM drumline.progress AS p
WHERE
    p.task_id = any(:ids::uuid [])
    AND p.epoch = (SELECT live.epoch FROM drumline.task_live AS live WHERE live.id = p.task_id AND live.state = 2)
