-- weights: those of the tenants that have one.
SELECT name, weight FROM tenant WHERE weight IS NOT NULL
