-- count secrets: how many a tenant has.
SELECT count(*) FROM secret WHERE tenant = :tenant
