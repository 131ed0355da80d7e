-- Whether a limit is split over several databases: never here.
ALTER TABLE flow_limit ADD COLUMN split INTEGER NOT NULL DEFAULT 0;
