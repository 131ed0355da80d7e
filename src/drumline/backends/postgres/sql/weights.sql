-- weights: those of the tenants that have one.
SELECT t.name, t.weight FROM drumline.tenant AS t WHERE t.weight IS NOT NULL
