-- tidy: how many dead rows lie among the tasks that have not ended.
SELECT pg_stat_get_dead_tuples('drumline.task_live'::regclass) AS count
