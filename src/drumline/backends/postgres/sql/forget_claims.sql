-- reap: forget claims of which nothing is running any more.
DELETE FROM drumline.claim USING drumline.session AS s
WHERE
    claim.session = s.id
    AND (s.closed_at IS NOT NULL OR s.beat >= claim.beat + 2)
    AND NOT EXISTS (
        SELECT FROM drumline.task_live AS live
        WHERE
            live.id = any(claim.tasks)
            AND live.state = 2
            AND live.session = s.id -- the claim's too; said of s, so that only the tasks of old claims are looked at
            AND live.nonce = claim.nonce
        OFFSET 0 -- no join: it would read the whole table
    )
