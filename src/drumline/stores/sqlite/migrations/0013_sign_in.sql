-- What ended sign-ins before their time, and which ways to a provider were gone. Sign-ins themselves are kept by
-- browsers.
CREATE TABLE sign_in_mark (
    name TEXT PRIMARY KEY,
    left_at INTEGER NOT NULL,
    until INTEGER NOT NULL
) WITHOUT ROWID;
