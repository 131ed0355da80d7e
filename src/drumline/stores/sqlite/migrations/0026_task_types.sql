-- Types of tasks as workers publish them (major 1): what their code declares for submissions, and the payload's schema.
CREATE TABLE task_type (
    tenant TEXT NOT NULL, -- empty for workers that serve every tenant
    name TEXT NOT NULL,
    defaults TEXT, -- JSON
    schema TEXT, -- JSON
    former_schema TEXT, -- the one before the last change
    changed_at INTEGER NOT NULL, -- when the schema last became another one
    published_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;
