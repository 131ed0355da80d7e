-- reap: forget claims of which nothing is running any more.
-- Looking at the tasks ends with the first that runs, so it costs more than a moment only once, before the claim goes.
DELETE FROM drumline.claim USING drumline.session AS s
WHERE
    claim.session = s.id
    AND (s.closed_at IS NOT NULL OR s.beat >= claim.beat + 2)
    AND NOT EXISTS (
        SELECT FROM unnest(claim.tasks) AS given (id)
        CROSS JOIN LATERAL (
            SELECT FROM drumline.task_live AS live
            WHERE
                live.id = given.id AND live.state = 2
                AND live.session = claim.session AND live.nonce = claim.nonce
            OFFSET 0
        ) AS running
    )
