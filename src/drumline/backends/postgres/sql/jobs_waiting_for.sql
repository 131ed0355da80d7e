-- ripple: jobs that wait for another.
SELECT waiting.job_id
FROM (SELECT dep.job_id FROM drumline.job_dep AS dep WHERE dep.needs_job = :needed::uuid AND NOT dep.is_done OFFSET 0) AS waiting
ORDER BY waiting.job_id
LIMIT :limit::int4
