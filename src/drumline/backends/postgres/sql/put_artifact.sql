-- artifact: keep a file; a later one of the same name replaces it.
INSERT INTO drumline.artifact (task_id, name, content_type, created_at, data)
VALUES (:id::uuid, :name::text, :content_type::text, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8), :data::bytea)
ON CONFLICT (task_id, name) DO UPDATE
SET content_type = excluded.content_type, created_at = excluded.created_at, data = excluded.data
