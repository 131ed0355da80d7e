-- migrate: everything of ours is in a schema of its own.
CREATE SCHEMA IF NOT EXISTS drumline
