-- count schedules: all of a tenant.
SELECT count(*) FROM schedule WHERE tenant = :tenant
