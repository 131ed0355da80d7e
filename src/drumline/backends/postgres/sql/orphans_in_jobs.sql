-- reap: running tasks of jobs that no open session holds, to lock their jobs before them.
SELECT live.id
FROM drumline.claim
INNER JOIN drumline.session AS s
    ON claim.session = s.id AND (s.closed_at IS NOT NULL OR s.beat >= claim.beat + 2)
CROSS JOIN LATERAL unnest(claim.tasks) AS given (id)
INNER JOIN drumline.task_live AS live
    ON
        given.id = live.id
        AND live.state = 2
        AND claim.session = live.session
        AND claim.nonce = live.nonce
WHERE (s.closed_at IS NOT NULL OR given.id <> all(s.held)) AND live.in_job
ORDER BY live.id
LIMIT :limit::int4
