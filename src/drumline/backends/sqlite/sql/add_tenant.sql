-- add a tenant: nothing happens if there is one of that name.
INSERT INTO tenant (name, created_at, queued, payload_bytes, schedules, weight)
VALUES (:name, :now, :queued, :payload_bytes, :schedules, :weight)
ON CONFLICT (name) DO NOTHING
