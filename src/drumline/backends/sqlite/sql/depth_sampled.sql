-- sample depth: whether somebody has done so in the last :apart milliseconds.
SELECT
    EXISTS (
        SELECT 1 FROM depth
        WHERE
            step = :step
            AND at > :now - :apart - :step
            AND at <= :now
            AND lane = 0
            AND sampled_at > :now - :apart
    )
