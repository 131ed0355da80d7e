-- read events: the rows behind a position, with the number of acts in each, and with their facts.
SELECT o.position, o.at, cardinality(o.acts) AS count, o.facts
FROM drumline.outbox AS o
WHERE o.position > :after::int8
ORDER BY o.position
LIMIT :limit::int4
