-- As on PostgreSQL (major 1), where signals get another index on their numbers; here these are the primary key.

DROP INDEX signal_by_age;
CREATE INDEX signal_by_age ON signal (at) WHERE key <> '';
