-- name: record
-- settle, reap, cancel: write what was decided about tasks whose live rows this transaction has locked.
--   transition  as decided: :states is queued or an end
--   fence       the epoch of a task that is queued rises
--   :ids …      arrays of equal length, sorted by id, each once; :epochs is that of the attempt
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

ended AS (
    DELETE FROM drumline.task_live AS live
    WHERE live.id = any(:ids::uuid []) AND (:states::int2 [])[width_bucket(live.id, :ids)] >= 3
    RETURNING live.id, live.family
),

noted AS (
    INSERT INTO drumline.child_note (parent_id, kind, name, key)
    SELECT e.id, 1, '', '' FROM ended AS e WHERE e.family >= 2
    ON CONFLICT (parent_id, kind, name, key) DO NOTHING
),

queued AS (
    UPDATE drumline.task_live AS live
    SET
        state = (:states)[width_bucket(live.id, :ids)],
        epoch = live.epoch + 1,
        due_at = (:due_at::int8 [])[width_bucket(live.id, :ids)],
        attempt = (:counted::int4 [])[width_bucket(live.id, :ids)],
        failures = (:failures::int4 [])[width_bucket(live.id, :ids)],
        crashes = (:crashes::int4 [])[width_bucket(live.id, :ids)],
        nonce = 0,
        session = 0,
        started_at = 0
    WHERE live.id = any(:ids) AND (:states)[width_bucket(live.id, :ids)] < 3
),

written AS (
    INSERT INTO drumline.attempt (
        task_id, nonce, session, started_at, finished_at, epoch, lane, attempt, outcome, result, error
    )
    SELECT
        g.id, g.nonce, g.session, g.started_at, (SELECT clock.now FROM clock), g.epoch, g.lane, g.attempt,
        g.outcome, g.result, g.error
    FROM
        unnest(
            :ids, :nonces::int8 [], :sessions::int8 [], :started_at::int8 [], :epochs::int4 [], :lanes::int4 [],
            :attempts::int4 [], :outcomes::int2 [], :results::bytea [], :errors::text []
        ) AS g (id, nonce, session, started_at, epoch, lane, attempt, outcome, result, error)
)

INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
SELECT clock.now, :ids, :acts::int2 [], :states, :epochs
FROM clock

-- name: lease_states
-- lease_states: the state of the tasks of current leases.
SELECT live.id, live.epoch, live.nonce, live.failures, live.cancel_requested, wide.options
FROM unnest(:ids::uuid [], :epochs::int4 [], :nonces::int8 []) AS g (id, epoch, nonce)
CROSS JOIN LATERAL (
    SELECT l.id, l.epoch, l.nonce, l.failures, l.cancel_requested
    FROM drumline.task_live AS l
    WHERE l.id = g.id AND l.epoch = g.epoch AND l.nonce = g.nonce AND l.state = 2
    OFFSET 0
) AS live
CROSS JOIN LATERAL (
    SELECT task.options FROM drumline.task WHERE task.id = g.id OFFSET 0
) AS wide

-- name: settle
-- settle: end tasks whose attempt completed, failed for good, or was stopped.
--   transition  running -> completed, failed, cancelled
--   fence       epoch and nonce both match; whoever deletes the live row, and nobody else, writes the end
--   :ids …      arrays of equal length, sorted by id, each once; an empty one means that :usual_… holds for each
-- Those that belong to jobs are left alone, and so are those that other tasks started or that started others.
-- GIVES how many ended, and their ids if not all did; no row if none did
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

ended AS (
    DELETE FROM drumline.task_live AS live
    WHERE
        live.id = any(:ids::uuid [])
        AND live.state = 2
        AND NOT live.in_job
        AND live.family = 0
        AND live.nonce = CASE
            WHEN cardinality(:nonces::int8 []) = 0 THEN :usual_nonces::int8
            ELSE (:nonces)[width_bucket(live.id, :ids)]
        END
        AND live.epoch = CASE
            WHEN cardinality(:epochs::int4 []) = 0 THEN :usual_epochs::int4
            ELSE (:epochs)[width_bucket(live.id, :ids)]
        END
    RETURNING
        live.id, live.epoch, live.nonce, live.lane, live.due_at, live.attempt, live.session, live.started_at,
        CASE
            WHEN cardinality(:outcomes::int2 []) + cardinality(:acts::int2 [])
                + cardinality(:results::bytea []) + cardinality(:errors::text []) > 0
                THEN width_bucket(live.id, :ids)
        END AS place
),

written AS (
    INSERT INTO drumline.attempt (
        task_id, nonce, session, due_at, started_at, finished_at, epoch, lane, attempt, outcome, result, error
    )
    SELECT
        e.id, e.nonce, e.session, e.due_at, e.started_at, (SELECT clock.now FROM clock), e.epoch, e.lane, e.attempt,
        coalesce((:outcomes)[e.place], :usual_outcomes::int2),
        coalesce((:results)[e.place], :usual_results::bytea),
        coalesce((:errors)[e.place], :usual_errors::text)
    FROM ended AS e
)

INSERT INTO drumline.outbox (lane, lanes, at, tasks, acts, states, epochs, waits, runs)
SELECT
    CASE WHEN min(e.lane) = max(e.lane) THEN min(e.lane) END,
    CASE WHEN min(e.lane) < max(e.lane) THEN array_agg(e.lane) END,
    (SELECT clock.now FROM clock),
    array_agg(e.id),
    array_agg(coalesce((:acts)[e.place], :usual_acts::int2)),
    array_agg(coalesce((:outcomes)[e.place], :usual_outcomes)),
    array_agg(e.epoch),
    array_agg(CASE WHEN e.attempt = 1 THEN least(greatest(e.started_at - e.due_at, 0), 2147483647)::int4 END),
    array_agg(least((SELECT clock.now FROM clock) - e.started_at, 2147483647)::int4)
FROM ended AS e
HAVING count(*) > 0
RETURNING
    cardinality(tasks) AS count,
    CASE WHEN cardinality(tasks) < cardinality(:ids) THEN tasks END AS ids

-- name: settled_before
-- settle: what leases that are not current were settled as, if they were.
SELECT a.task_id, a.epoch, a.nonce, a.outcome
FROM unnest(:ids::uuid [], :epochs::int4 [], :nonces::int8 []) AS g (id, epoch, nonce)
CROSS JOIN LATERAL (
    SELECT attempt.task_id, attempt.epoch, attempt.nonce, attempt.outcome
    FROM drumline.attempt
    WHERE attempt.task_id = g.id AND attempt.epoch = g.epoch AND attempt.nonce = g.nonce
    OFFSET 0
) AS a

-- name: lock_leases
-- settle: lock the running tasks whose current lease is in a list.
--   fence   epoch and nonce both match
--   :ids …  arrays of equal length, sorted by id, each once
--   :in_job whether their ends have consequences, and the jobs are locked; the others are left alone
--   :family whether the tasks that started them are locked, too; if not, those that others started are left alone
-- GIVES the time with each
SELECT
    live.id, live.epoch, live.nonce, live.lane, live.due_at, live.attempt, live.failures, live.crashes,
    live.session, live.started_at, live.cancel_requested,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
FROM drumline.task_live AS live
WHERE
    live.id = any(:ids::uuid [])
    AND live.state = 2
    AND live.epoch = (:epochs::int4 [])[width_bucket(live.id, :ids)]
    AND live.nonce = (:nonces::int8 [])[width_bucket(live.id, :ids)]
    AND (live.in_job OR live.family > 0) = :in_job::bool
    AND (live.family = 0 OR :family::bool)
ORDER BY live.id
FOR UPDATE
