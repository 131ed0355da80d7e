-- Views of lists that people keep: a filter and columns under a name.
CREATE TABLE saved_view (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL, -- the name of the key or person that keeps it
    page TEXT NOT NULL CHECK (page IN ('tasks', 'failures', 'jobs')),
    name TEXT NOT NULL,
    is_shared INTEGER NOT NULL,
    filter TEXT NOT NULL,
    columns TEXT NOT NULL, -- a JSON list of names
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, page, owner, name)
) WITHOUT ROWID;
