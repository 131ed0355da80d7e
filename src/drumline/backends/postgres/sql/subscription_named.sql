-- change a subscription: whether its tenant has another one of that name.
SELECT other.id
FROM drumline.subscription AS s, drumline.subscription AS other
WHERE s.id = :id::uuid AND other.tenant = s.tenant AND other.name = :name::text AND other.id <> s.id
