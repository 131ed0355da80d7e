-- add schedules: what was asked for.
INSERT INTO schedule (id, tenant, name, rule, policy, target, app, module, created_at)
VALUES (:id, :tenant, :name, :rule, :policy, :target, :app, :module, :now)
