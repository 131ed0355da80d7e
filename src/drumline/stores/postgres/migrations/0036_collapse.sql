-- Collapse keys (major 1): the last task of each, since when its time counts, and until when it stands for others.
CREATE TABLE drumline.collapse_key (
    first_at int8 NOT NULL,
    until int8 NOT NULL,
    task_id uuid NOT NULL,
    tenant text NOT NULL,
    key text NOT NULL, -- the task's name, the kind of rule and what the submission said, as lines
    PRIMARY KEY (tenant, key)
);
CREATE INDEX collapse_key_until ON drumline.collapse_key (until);

-- As in 0018_wall.sql.
CREATE POLICY wall ON drumline.collapse_key USING (
    current_user NOT LIKE 'drumline\_tenant%'
    OR tenant = nullif(current_setting('drumline.tenant', true), '')
);
ALTER TABLE drumline.collapse_key ENABLE ROW LEVEL SECURITY;
