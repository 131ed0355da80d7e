-- pause in a session: the task names that it is not handed.
UPDATE drumline.session
SET spec = (spec::jsonb || jsonb_build_object('paused', :names::text::jsonb))::text
WHERE id = :session::int8 AND closed_at IS NULL
