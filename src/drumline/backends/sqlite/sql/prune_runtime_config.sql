-- prune the history of the runtime configuration: versions up to :until.
DELETE FROM runtime_config WHERE version <= :until
