-- ripple: everybody has been told.
DELETE FROM drumline.job_ripple WHERE seq = :seq::int8
