-- Views of lists that people keep: a filter and columns under a name (major 1).
CREATE TABLE drumline.saved_view (
    created_at int8 NOT NULL,
    updated_at int8 NOT NULL,
    tenant text NOT NULL,
    owner text NOT NULL, -- the name of the key or person that keeps it
    page text NOT NULL CHECK (page IN ('tasks', 'failures', 'jobs')),
    name text NOT NULL,
    is_shared bool NOT NULL,
    filter text NOT NULL,
    columns text NOT NULL, -- a JSON list of names
    PRIMARY KEY (tenant, page, owner, name)
);

-- As in 0018_wall.sql.
CREATE POLICY wall ON drumline.saved_view USING (
    current_user NOT LIKE 'drumline\_tenant%'
    OR tenant = nullif(current_setting('drumline.tenant', true), '')
);
ALTER TABLE drumline.saved_view ENABLE ROW LEVEL SECURITY;
