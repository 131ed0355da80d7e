-- pick events: the rows behind a position; whether any of the ends looked for is in them, and their facts.
--   :states  numbers of states after which somebody may want to be told
SELECT o.position, o.at, o.states && :states::int2 [] AS has_ends, o.facts
FROM drumline.outbox AS o
WHERE o.position > :after::int8 AND o.position <= :until::int8
ORDER BY o.position
LIMIT :limit::int4
