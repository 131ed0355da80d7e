-- open: whether the database was ever migrated.
SELECT to_regclass('drumline.migration') IS NOT NULL AS has_schema
