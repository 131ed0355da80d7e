-- check: the server's version and the newest migration.
SELECT current_setting('server_version') AS version, max(m.number) AS number FROM drumline.migration AS m
