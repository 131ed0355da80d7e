-- prune stats: drop the figures of one width from before a time.
WITH depth AS (
    DELETE FROM drumline.depth AS d WHERE d.step = :step::int4 AND d.at < :before::int8
    RETURNING d.at
),

stat AS (
    DELETE FROM drumline.stat AS s WHERE s.step = :step AND s.at < :before
    RETURNING s.at
)

SELECT (SELECT count(*) FROM depth) + (SELECT count(*) FROM stat) AS count
