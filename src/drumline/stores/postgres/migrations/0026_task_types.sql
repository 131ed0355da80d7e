-- Types of tasks as workers publish them (major 1): what their code declares for submissions, and the payload's schema.
CREATE TABLE drumline.task_type (
    changed_at int8 NOT NULL, -- when the schema last became another one
    published_at int8 NOT NULL,
    tenant text NOT NULL, -- empty for workers that serve every tenant
    name text NOT NULL,
    defaults text, -- JSON
    schema text, -- JSON
    former_schema text, -- the one before the last change
    PRIMARY KEY (tenant, name)
);

-- As in 0018_wall.sql: a tenant's own types, and those of workers that serve every tenant.
CREATE POLICY wall ON drumline.task_type USING (
    current_user NOT LIKE 'drumline\_tenant%'
    OR tenant = ''
    OR tenant = nullif(current_setting('drumline.tenant', true), '')
);
ALTER TABLE drumline.task_type ENABLE ROW LEVEL SECURITY;
