-- count schedules: all of a tenant.
SELECT count(*) FROM drumline.schedule AS s WHERE s.tenant = :tenant::text
