-- add schedules: where they stand at first.
INSERT INTO drumline.schedule_live (id, state, fire_at, due_at, changed_at)
SELECT g.id, g.state, g.fire_at, g.due_at, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
FROM unnest(:ids::uuid [], :states::int2 [], :fire_at::int8 [], :due_at::int8 []) AS g (id, state, fire_at, due_at)
