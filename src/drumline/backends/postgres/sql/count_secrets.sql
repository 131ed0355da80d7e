-- count secrets: how many a tenant has.
SELECT count(*) FROM drumline.secret AS s WHERE s.tenant = :tenant::text
