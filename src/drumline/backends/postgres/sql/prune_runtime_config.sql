-- prune the history of the runtime configuration: versions up to :until.
DELETE FROM drumline.runtime_config WHERE version <= :until::int8
