-- migrate: which migrations were applied.
CREATE TABLE IF NOT EXISTS drumline.migration (
    number int4 PRIMARY KEY,
    major int4 NOT NULL,
    name text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)
