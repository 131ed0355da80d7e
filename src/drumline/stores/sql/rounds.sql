-- name: last_round
-- restart, steps: the number of the last round of a task that is over; 0 if none is.
SELECT coalesce(max(r.round), 0) AS round FROM drumline.task_round AS r WHERE r.task_id = :id::uuid

-- name: insert_round
-- restart: note that a round of a locked task is over, with the payload that it was given.
INSERT INTO drumline.task_round (task_id, ended_at, round, epoch, records, payload)
SELECT task.id, :at::int8, :round::int4, :epoch::int4, :records::int4, task.payload
FROM drumline.task
WHERE task.id = :id::uuid

-- name: set_records_aside
-- restart: keep the records of a round that is over. The task is locked.
INSERT INTO drumline.round_record (
    task_id, started_at, at, due_at, round, seq, epoch, tries, kind, status, name, key, value
)
SELECT
    r.task_id, r.started_at, r.at, r.due_at, :round::int4, r.seq, r.epoch, r.tries, r.kind, r.status, r.name, r.key,
    r.value
FROM drumline.step_record AS r
WHERE r.task_id = :id::uuid

-- name: drop_records
-- restart: the next round has no records yet.
DELETE FROM drumline.step_record AS r WHERE r.task_id = :id::uuid

-- name: drop_waits
-- restart: the next round waits for nothing yet.
DELETE FROM drumline.task_wait AS w WHERE w.task_id = :id::uuid

-- name: set_links_aside
-- restart: keep which children a round had that is over. The task is locked, so none of them ends meanwhile.
INSERT INTO drumline.round_link (task_id, child_id, round, place, on_end, name, key)
SELECT
    l.parent_id, l.child_id, :round::int4, l.place,
    CASE
        -- the call has its answer, and the others of it are to be cancelled
        WHEN EXISTS (
            SELECT 1 FROM drumline.child_note AS n
            WHERE n.parent_id = l.parent_id AND n.kind = 3 AND n.name = l.name AND n.key = l.key
        ) THEN 0
        ELSE l.on_end
    END,
    l.name, l.key
FROM drumline.task_link AS l
WHERE l.parent_id = :id::uuid
RETURNING on_end

-- name: drop_links
-- restart: the next round has no children yet.
DELETE FROM drumline.task_link AS l WHERE l.parent_id = :id::uuid

-- name: drop_child_notes
-- restart: what was noted about children of the round that is over is done with.
DELETE FROM drumline.child_note AS n WHERE n.parent_id = :id::uuid AND n.kind IN (2, 3)

-- name: renew_round (postgres)
-- restart: let a locked task begin without records, as a new row in place of the old one. A claim whose snapshot is older
-- than an earlier claim of the same task would take the row that was changed since, with the payload of its snapshot; a row that
-- was deleted it passes over, and a new one it does not see (as `renew_live`).
WITH gone AS (
    DELETE FROM drumline.task_live AS live
    WHERE live.id = :id::uuid AND live.state = 1
    RETURNING live.id, live.lane, live.epoch, live.in_job, live.limit_key, live.family, live.due_at
)

INSERT INTO drumline.task_live (id, lane, epoch, in_job, limit_key, family, due_at)
SELECT gone.id, gone.lane, gone.epoch, gone.in_job, gone.limit_key, gone.family, gone.due_at
FROM gone

-- name: renew_round (sqlite)
-- restart: let a task begin without records.
UPDATE task_live SET records = 0, record_bytes = 0 WHERE id = :id AND state = 1

-- name: forget_rounds
-- restart: the rounds of a locked task that are too many, up to :last.
-- GIVES the last epoch of the last of them, and when it ended; nothing if there is none
SELECT r.epoch, r.ended_at FROM drumline.task_round AS r
WHERE r.task_id = :id::uuid AND r.round <= :last::int4
ORDER BY r.round DESC
LIMIT 1

-- name: drop_rounds
-- restart: forget rounds up to :last.
DELETE FROM drumline.task_round AS r WHERE r.task_id = :id::uuid AND r.round <= :last::int4

-- name: drop_round_records
-- restart: forget what was recorded in them.
DELETE FROM drumline.round_record AS r WHERE r.task_id = :id::uuid AND r.round <= :last::int4

-- name: drop_round_links
-- restart: forget which children they had. Those that have to be cancelled yet stay.
DELETE FROM drumline.round_link AS l
WHERE
    l.task_id = :id::uuid AND l.round <= :last::int4
    AND NOT EXISTS (SELECT 1 FROM drumline.child_note AS n WHERE n.parent_id = l.task_id AND n.kind = 4)

-- name: drop_round_attempts
-- restart: forget the executions of rounds that are forgotten.
DELETE FROM drumline.attempt AS a WHERE a.task_id = :id::uuid AND a.epoch <= :epoch::int4

-- name: drop_round_logs
-- restart: forget what those executions logged.
DELETE FROM drumline.task_log AS l WHERE l.task_id = :id::uuid AND l.epoch <= :epoch::int4

-- name: drop_round_signals
-- restart: forget the signals that they took, but for late ones, which may be sent again; answers to those of other
-- databases stay, for they may be asked for again.
--   :at      when the last of these rounds ended
--   :before  signals that were taken after this are late ones
--   :most    how many signals that were taken are kept, besides those of rounds that are kept
DELETE FROM drumline.signal AS s
WHERE
    s.task_id = :id::uuid
    AND s.given_no IS NULL
    AND s.taken_at <= :at::int8
    AND s.taken_at <= greatest(
        :before::int8,
        (
            SELECT t.taken_at FROM drumline.signal AS t
            WHERE t.task_id = :id AND t.taken_at IS NOT NULL
            ORDER BY t.taken_at DESC
            LIMIT 1 OFFSET :most::int4
        )
    )

-- name: rounds_of
-- steps: the rounds of a task that are over and are kept, in their order.
SELECT r.round, r.ended_at, r.records FROM drumline.task_round AS r
WHERE r.task_id = :id::uuid
ORDER BY r.round

-- name: round_payload
-- steps: what a round that is over was given.
SELECT r.payload FROM drumline.task_round AS r WHERE r.task_id = :id::uuid AND r.round = :round::int4

-- name: round_records
-- steps: records of a round that is over, after a place.
--   :most  bytes of all of them; the first record is read whatever it has
-- GIVES for each the number of the last record of the round
SELECT
    sized.name, sized.key, sized.kind, sized.status, sized.value, sized.seq, sized.tries, sized.started_at, sized.at,
    sized.due_at, sized.last
FROM (
    SELECT
        head.name, head.key, head.kind, head.status, head.value, head.seq, head.tries, head.started_at, head.at,
        head.due_at,
        (SELECT max(o.seq) FROM drumline.round_record AS o WHERE o.task_id = :id::uuid AND o.round = :round::int4) AS last,
        row_number() OVER (ORDER BY head.seq) AS number,
        sum(length(head.value) + 200) OVER (ORDER BY head.seq) AS size
    FROM (
        SELECT r.name, r.key, r.kind, r.status, r.value, r.seq, r.tries, r.started_at, r.at, r.due_at
        FROM drumline.round_record AS r
        WHERE r.task_id = :id AND r.round = :round AND r.seq > :after::int4
        ORDER BY r.seq
        LIMIT :limit::int4
    ) AS head
) AS sized
WHERE sized.size <= :most::int8 OR sized.number = 1
ORDER BY sized.seq

-- name: open_round_links
-- children: those of a round that is over which have not ended and were not asked to stop.
SELECT l.child_id
FROM drumline.round_link AS l
INNER JOIN drumline.task_live AS live ON l.child_id = live.id
WHERE l.task_id = :id::uuid AND l.round = :round::int4 AND l.on_end = 0 AND NOT live.cancel_requested
ORDER BY l.child_id
LIMIT :limit::int4

-- name: round_links_of
-- list children: those of a round of a task that is over, in the order of name, key and place, after one of them.
SELECT l.child_id, l.name, l.key, l.place, l.on_end, NULL::int2 AS state
FROM drumline.round_link AS l
WHERE
    l.task_id = :id::uuid
    AND l.round = :round::int4
    AND (
        :after::uuid IS NULL
        OR (l.name, l.key, l.place) > (
            SELECT o.name, o.key, o.place FROM drumline.round_link AS o WHERE o.child_id = :after AND o.task_id = :id
        )
    )
ORDER BY l.name, l.key, l.place
LIMIT :limit::int4

-- name: begun_durable
-- submit: which of some tasks have done or wait for something, or are in a later round: they have begun, though no attempt counts.
SELECT g.id
FROM unnest(:ids::uuid []) AS g (id)
WHERE
    EXISTS (SELECT 1 FROM drumline.step_record AS r WHERE r.task_id = g.id)
    OR EXISTS (SELECT 1 FROM drumline.task_wait AS w WHERE w.task_id = g.id)
    OR EXISTS (SELECT 1 FROM drumline.task_round AS t WHERE t.task_id = g.id)
