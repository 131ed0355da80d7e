-- examine: the settings that durability and speed hang on, as the server itself has them, not this connection.
SELECT s.name, coalesce(s.reset_val, s.setting) AS setting
FROM pg_settings AS s
WHERE
    s.name IN (
        'fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum', 'track_counts', 'max_connections',
        'superuser_reserved_connections', 'server_encoding', 'statement_timeout', 'default_transaction_read_only'
    )
