-- list: the newest tasks below :before that a session holds or has executed.
(
    SELECT given.id
    FROM drumline.claim
    CROSS JOIN LATERAL unnest(claim.tasks) AS given (id)
    WHERE claim.session = :session::int8 AND given.id < :before::uuid
    ORDER BY given.id DESC
    LIMIT :limit::int4
)
UNION
(
    SELECT a.task_id FROM drumline.attempt AS a
    WHERE a.session = :session AND a.task_id < :before
    ORDER BY a.task_id DESC, a.epoch DESC
    LIMIT :limit
)
ORDER BY 1 DESC
LIMIT :limit
