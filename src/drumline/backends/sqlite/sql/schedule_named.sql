-- add and change schedules: whose a name is.
SELECT id FROM schedule WHERE tenant = :tenant AND name = :name
