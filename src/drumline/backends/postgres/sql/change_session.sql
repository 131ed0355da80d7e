-- change a session: what it serves from now on.
UPDATE drumline.session
SET spec = (spec::jsonb || jsonb_build_object('queues', :queues::text::jsonb, 'capacity', :capacity::int4))::text
WHERE id = :session::int8 AND closed_at IS NULL
