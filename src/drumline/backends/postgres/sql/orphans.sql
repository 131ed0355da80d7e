-- reap: running tasks that no open session holds: what lock_orphans would lock, for those who lock their jobs first.
-- with the orphan of lock_orphans
SELECT orphan.id FROM orphan
