-- reap: running tasks of jobs that no open session holds, to lock their jobs before them.
SELECT lost.id
FROM drumline.claim
INNER JOIN drumline.session AS s
    ON claim.session = s.id AND (s.closed_at IS NOT NULL OR s.beat >= claim.beat + 2)
CROSS JOIN LATERAL (
    SELECT l.id
    FROM drumline.task_live AS l
    WHERE
        l.id = any(claim.tasks)
        AND l.state = 2
        AND l.session = s.id
        AND l.nonce = claim.nonce
        AND (s.closed_at IS NOT NULL OR l.id <> all(s.held))
        AND l.in_job
    OFFSET 0 -- no join: it would read the whole table, each second
) AS lost
ORDER BY lost.id
LIMIT :limit::int4
