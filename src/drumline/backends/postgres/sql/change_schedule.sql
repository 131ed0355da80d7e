-- change schedules: what it is, unless another has the name.
-- GIVES a row if it was changed
UPDATE drumline.schedule AS s
SET
    name = :name::text,
    rule = :rule::text,
    policy = :policy::text,
    target = :target::text,
    app = :app::text,
    module = :module::text
WHERE
    s.id = :id::uuid
    AND NOT EXISTS (
        SELECT FROM drumline.schedule AS other WHERE other.tenant = s.tenant AND other.name = :name AND other.id <> s.id
    )
RETURNING s.id
