-- How far attempts are, by their own word (major 1): the latest of each task. It is worth no write-ahead log: after a
-- crash the table is empty, and a second later it is not.
CREATE UNLOGGED TABLE drumline.progress (
    task_id uuid NOT NULL,
    at int8 NOT NULL,
    done float8 NOT NULL,
    total float8,
    epoch int4 NOT NULL,
    message text NOT NULL,
    PRIMARY KEY (task_id)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
