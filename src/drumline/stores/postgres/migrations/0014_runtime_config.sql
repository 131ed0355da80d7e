-- Settings that hold for the whole fleet (major 1): the newest version counts, the others are history.
CREATE TABLE drumline.runtime_config (
    version int8 PRIMARY KEY,
    changed_at int8 NOT NULL,
    changed_by text NOT NULL,
    reason text,
    settings text NOT NULL
);
