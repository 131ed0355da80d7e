-- change schedules: what it is.
UPDATE schedule
SET name = :name, rule = :rule, policy = :policy, target = :target, app = :app, module = :module
WHERE id = :id
