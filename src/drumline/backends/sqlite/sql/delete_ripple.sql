-- ripple: everybody has been told.
DELETE FROM job_ripple WHERE seq = :seq
