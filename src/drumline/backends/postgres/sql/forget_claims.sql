-- reap: forget claims of which nothing is running any more.
DELETE FROM drumline.claim USING drumline.session AS s
WHERE
    claim.session = s.id
    AND (s.closed_at IS NOT NULL OR (s.beat >= claim.beat + 2 AND NOT claim.tasks && s.held))
    AND NOT EXISTS (
        SELECT FROM unnest(claim.tasks) AS given (id)
        INNER JOIN drumline.task_live AS live ON given.id = live.id
        WHERE live.state = 2 AND live.session = claim.session AND live.nonce = claim.nonce
    )
