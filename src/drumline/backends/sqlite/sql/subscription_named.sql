-- change a subscription: whether its tenant has another one of that name.
SELECT other.id
FROM subscription AS s
INNER JOIN subscription AS other ON s.tenant = other.tenant AND s.id <> other.id
WHERE s.id = :id AND other.name = :name
