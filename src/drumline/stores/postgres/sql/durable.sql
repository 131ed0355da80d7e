-- name: record_steps
-- record: write records of tasks whose current leases these are.
--   fence   the live row is locked where epoch and nonce match; whoever comes later finds another lease, and writes nothing
--   :ids, :epochs, :nonces  the leases, each task once, sorted by id
--   :tasks …                the records, each name and key of a task once; in the order in which they are numbered
--   :most, :most_bytes      how many records a task may have, and bytes of them
-- GIVES what was written. What is missing was there already, is too much, or is of a lease that is not current
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

given AS MATERIALIZED (
    SELECT g.*, old.status IS NULL AS is_new
    FROM
        unnest(
            :tasks::uuid [], :names::text [], :keys::text [], :statuses::int2 [], :tries::int4 [], :took::int8 [],
            :delays::int8 [], :values::bytea []
        ) WITH ORDINALITY AS g (id, name, key, status, tries, took, delay, value, place)
    LEFT JOIN LATERAL (
        SELECT r.status, r.tries FROM drumline.step_record AS r
        WHERE r.task_id = g.id AND r.name = g.name AND r.key = g.key
        OFFSET 0
    ) AS old ON true
    WHERE old.status IS NULL OR (old.status = 0 AND (g.status <> 0 OR g.tries > old.tries))
),

locked AS MATERIALIZED (
    SELECT live.id, live.epoch, live.lane FROM drumline.task_live AS live
    WHERE
        live.id = any(:ids::uuid [])
        AND live.state = 2
        AND live.epoch = (:epochs::int4 [])[width_bucket(live.id, :ids)]
        AND live.nonce = (:nonces::int8 [])[width_bucket(live.id, :ids)]
    ORDER BY live.id
    FOR UPDATE
),

packed AS MATERIALIZED (
    SELECT
        array_agg(t.id ORDER BY t.id) AS ids,
        array_agg(t.count ORDER BY t.id) AS counts,
        array_agg(t.bytes ORDER BY t.id) AS bytes,
        array_agg(t.is_progress ORDER BY t.id) AS progress
    FROM (
        SELECT
            given.id,
            count(*) FILTER (WHERE given.is_new)::int4 AS count,
            sum(octet_length(given.value))::int4 AS bytes,
            bool_or(given.status <> 0) AS is_progress
        FROM given
        WHERE given.id IN (SELECT locked.id FROM locked)
        GROUP BY given.id
    ) AS t
),

counted AS (
    -- A record is progress: failures and crashes count from the last one.
    UPDATE drumline.task_live AS live
    SET
        records = live.records + (SELECT p.counts FROM packed AS p)[width_bucket(live.id, (SELECT p.ids FROM packed AS p))],
        record_bytes = live.record_bytes
            + (SELECT p.bytes FROM packed AS p)[width_bucket(live.id, (SELECT p.ids FROM packed AS p))],
        failures = CASE
            WHEN (SELECT p.progress FROM packed AS p)[width_bucket(live.id, (SELECT p.ids FROM packed AS p))] THEN 0
            ELSE live.failures
        END,
        crashes = CASE
            WHEN (SELECT p.progress FROM packed AS p)[width_bucket(live.id, (SELECT p.ids FROM packed AS p))] THEN 0
            ELSE live.crashes
        END
    WHERE
        live.id = any((SELECT p.ids FROM packed AS p)::uuid [])
        AND live.records + (SELECT p.counts FROM packed AS p)[width_bucket(live.id, (SELECT p.ids FROM packed AS p))]
        <= :most::int4
        AND live.record_bytes + (SELECT p.bytes FROM packed AS p)[width_bucket(live.id, (SELECT p.ids FROM packed AS p))]
        <= :most_bytes::int4
    RETURNING
        live.id, live.epoch, live.lane,
        live.records - (SELECT p.counts FROM packed AS p)[width_bucket(live.id, (SELECT p.ids FROM packed AS p))] AS before
),

written AS (
    INSERT INTO drumline.step_record AS mine (
        task_id, started_at, at, due_at, seq, epoch, tries, kind, status, name, key, value
    )
    SELECT
        g.id, clock.now - g.took, clock.now, CASE WHEN g.status = 0 THEN clock.now + g.delay END,
        c.before + row_number() OVER (PARTITION BY g.id ORDER BY g.place), c.epoch, g.tries, 1, g.status, g.name, g.key,
        g.value
    FROM given AS g
    INNER JOIN counted AS c ON g.id = c.id
    CROSS JOIN clock
    ON CONFLICT (task_id, name, key) DO UPDATE
    SET
        started_at = excluded.started_at, at = excluded.at, due_at = excluded.due_at, epoch = excluded.epoch,
        tries = excluded.tries, status = excluded.status, value = excluded.value
    WHERE mine.status = 0 AND (excluded.status <> 0 OR excluded.tries > mine.tries)
    RETURNING
        mine.task_id, mine.name, mine.key, mine.kind, mine.status, mine.seq, mine.tries, mine.started_at, mine.at,
        mine.due_at
),

told AS (
    INSERT INTO drumline.outbox (at, tasks, acts, states, epochs, facts)
    SELECT
        (SELECT clock.now FROM clock), '{}', '{}', '{}', '{}',
        json_agg(
            json_build_array(
                'drumline.task.recorded', w.task_id, lane.tenant,
                json_build_object(
                    'name', w.name, 'key', w.key, 'kind', 'step',
                    'status', CASE w.status WHEN 0 THEN 'tried' WHEN 1 THEN 'done' ELSE 'failed' END, 'tries', w.tries
                )
            )
            ORDER BY w.task_id, w.seq
        )::text
    FROM written AS w
    INNER JOIN counted AS c ON w.task_id = c.id
    CROSS JOIN LATERAL (SELECT l.tenant FROM drumline.lane AS l WHERE l.id = c.lane OFFSET 0) AS lane
    HAVING count(*) > 0
)

SELECT
    w.task_id, w.name, w.key, w.kind, w.status, w.seq, w.tries, w.started_at, w.at, w.due_at
FROM written AS w
