-- name: relatives
-- settle, reap, cancel, retry: those of some tasks that another one started, with that one, and all whose end has consequences.
SELECT l.child_id AS id, l.parent_id FROM drumline.task_link AS l WHERE l.child_id = any(:ids::uuid [])
UNION ALL
SELECT live.id, NULL::uuid AS parent_id FROM drumline.task_live AS live
WHERE live.id = any(:ids) AND live.family > 0

-- name: end_links
-- settle, reap, cancel: write how children ended whose outcome counts. Their parents are locked, and their attempts written.
--   :ids …  arrays of equal length
UPDATE drumline.task_link AS l
SET
    state = g.state,
    epoch = (SELECT max(a.epoch) FROM drumline.attempt AS a WHERE a.task_id = g.id)
FROM unnest(:ids::uuid [], :states::int2 []) AS g (id, state)
WHERE l.child_id = g.id AND l.state IS NULL
RETURNING l.parent_id, l.name, l.key

-- name: count_down
-- settle, reap, cancel, retry: fewer children, or more of them, are waited for. The parents are locked.
UPDATE drumline.task_wait AS w
SET pending = w.pending - g.count
FROM
    unnest(:parents::uuid [], :names::text [], :keys::text [], :counts::int4 []) AS g (parent, name, key, count)
WHERE w.task_id = g.parent AND w.name = g.name AND w.key = g.key AND w.pending IS NOT NULL
RETURNING w.task_id, w.pending, w.wake_at

-- name: wake_parents
-- settle, reap, cancel: make queued tasks due that waited for the ends of children. The tasks are locked.
--   transition  queued -> queued
--   fence       epoch rises
UPDATE drumline.task_live AS live
SET due_at = :now::int8, epoch = live.epoch + 1
WHERE live.id = any(:ids::uuid []) AND live.state = 1 AND live.due_at > :now
RETURNING live.id, live.lane, live.due_at, live.epoch

-- name: parent_of_lease
-- start children: the lane and the options of the task of a current lease.
SELECT live.lane, task.options
FROM drumline.task_live AS live
INNER JOIN drumline.task ON live.id = task.id
WHERE live.id = :id::uuid AND live.state = 2 AND live.epoch = :epoch::int4 AND live.nonce = :nonce::int8

-- name: links_between
-- start children: those of a call that are there already, by their places.
SELECT l.place, l.child_id
FROM drumline.task_link AS l
WHERE
    l.parent_id = :id::uuid AND l.name = :name::text AND l.key = :key::text
    AND l.place >= :first::int4 AND l.place < :below::int4

-- name: last_link
-- start children: the last place of a call.
SELECT max(l.place) AS place FROM drumline.task_link AS l
WHERE l.parent_id = :id::uuid AND l.name = :name::text AND l.key = :key::text

-- name: insert_links
-- start children: write which task started them. Its live row is locked.
INSERT INTO drumline.task_link (parent_id, child_id, place, on_end, name, key)
SELECT :id::uuid, g.child, g.place, :on_end::int2, :name::text, :key::text
FROM unnest(:children::uuid [], :places::int4 []) AS g (child, place)

-- name: mark_children
-- start children: their ends have consequences.
UPDATE drumline.task_live AS live SET family = 1 WHERE live.id = any(:ids::uuid [])

-- name: mark_parent
-- start children: the end of the task that started them has consequences. Its live row is locked.
UPDATE drumline.task_live AS live
SET family = live.family + 2
WHERE live.id = :id::uuid AND live.family < 2

-- name: count_pending
-- wait: how many children of a call have not ended. The parent is locked.
SELECT count(*) AS count
FROM drumline.task_link AS l
WHERE l.parent_id = :id::uuid AND l.name = :name::text AND l.key = :key::text AND l.state IS NULL

-- name: count_links
-- wait: how many children a call has, how many of them ended badly, and the place of the first that completed.
SELECT
    count(*) AS count,
    count(CASE WHEN l.state > 3 THEN 1 END) AS bad,
    min(CASE WHEN l.state = 3 THEN l.place END) AS best
FROM drumline.task_link AS l
WHERE l.parent_id = :id::uuid AND l.name = :name::text AND l.key = :key::text

-- name: link_outcomes
-- wait, outcomes: how children of a call ended, by their places.
--   :first  the place to begin at
--   :most   bytes of their results; the first is read whatever it has
-- GIVES with each the last place of the call
SELECT sized.place, sized.child_id, sized.state, sized.result, sized.error, sized.last
FROM (
    SELECT
        l.place, l.child_id, l.state, a.result, a.error,
        (
            SELECT max(o.place) FROM drumline.task_link AS o
            WHERE o.parent_id = :id::uuid AND o.name = :name::text AND o.key = :key::text
        ) AS last,
        row_number() OVER (ORDER BY l.place) AS number,
        sum(coalesce(length(a.result), 0) + 100) OVER (ORDER BY l.place) AS size
    FROM drumline.task_link AS l
    LEFT JOIN drumline.attempt AS a ON l.child_id = a.task_id AND l.epoch = a.epoch
    WHERE
        l.parent_id = :id AND l.name = :name AND l.key = :key
        AND l.place >= :first::int4 AND l.place < :first + :limit::int4
) AS sized
WHERE sized.size <= :most::int8 OR sized.number = 1
ORDER BY sized.place

-- name: renew_links_of_children
-- retry: the outcomes of children that run again do not count, unless their parents have taken them. The parents are locked.
UPDATE drumline.task_link AS l
SET state = NULL, epoch = NULL
WHERE
    l.child_id = any(:ids::uuid []) AND l.state IS NOT NULL
    AND NOT EXISTS (
        SELECT 1 FROM drumline.step_record AS r WHERE r.task_id = l.parent_id AND r.name = l.name AND r.key = l.key
    )
RETURNING l.parent_id, l.name, l.key

-- name: renew_links_of_parents
-- retry: forget the bad outcomes of children that the tasks have not taken, or have forgotten. The tasks are locked.
UPDATE drumline.task_link AS l
SET state = NULL, epoch = NULL
WHERE
    l.parent_id = any(:ids::uuid []) AND l.state IN (4, 5)
    AND NOT EXISTS (
        SELECT 1 FROM drumline.step_record AS r WHERE r.task_id = l.parent_id AND r.name = l.name AND r.key = l.key
    )
RETURNING l.parent_id

-- name: withdraw_cancels
-- retry: children of the tasks that were asked to stop need not, unless their call has its answer. The tasks are locked.
UPDATE drumline.task_live AS live
SET cancel_requested = false
WHERE
    live.cancel_requested
    AND live.id IN (
        SELECT l.child_id FROM drumline.task_link AS l
        WHERE
            l.parent_id = any(:ids::uuid []) AND l.state IS NULL
            AND NOT EXISTS (
                SELECT 1 FROM drumline.step_record AS r
                WHERE r.task_id = l.parent_id AND r.name = l.name AND r.key = l.key
            )
    )
RETURNING live.id

-- name: note_children
-- retry, wait: note what has to be done about the children of tasks.
INSERT INTO drumline.child_note (parent_id, kind, name, key)
SELECT g.id, :kind::int2, :name::text, :key::text
FROM unnest(:ids::uuid []) AS g (id)
WHERE true
ON CONFLICT (parent_id, kind, name, key) DO NOTHING

-- name: child_notes
-- children: what has to be done about the children of tasks, some of it.
SELECT n.parent_id, n.kind, n.name, n.key FROM drumline.child_note AS n
ORDER BY n.parent_id, n.kind, n.name, n.key
LIMIT :limit::int4

-- name: drop_child_note
-- children: what was noted is done.
DELETE FROM drumline.child_note AS n
WHERE n.parent_id = :id::uuid AND n.kind = :kind::int2 AND n.name = :name::text AND n.key = :key::text

-- name: open_links
-- children: those of a task whose outcome is not there, after a place in the order of name, key and place.
SELECT l.child_id, l.name, l.key, l.place, l.on_end
FROM drumline.task_link AS l
WHERE
    l.parent_id = :id::uuid AND l.state IS NULL
    AND (l.name, l.key, l.place) > (:name::text, :key::text, :place::int4)
ORDER BY l.name, l.key, l.place
LIMIT :limit::int4

-- name: live_among
-- children: which of some tasks have not ended.
SELECT live.id FROM drumline.task_live AS live WHERE live.id = any(:ids::uuid [])

-- name: has_record
-- children: whether a call has its answer.
SELECT r.seq FROM drumline.step_record AS r
WHERE r.task_id = :id::uuid AND r.name = :name::text AND r.key = :key::text

-- name: links_of
-- list children: those of a task in the order of name, key and place, after one of them.
SELECT l.child_id, l.name, l.key, l.place, l.on_end, l.state
FROM drumline.task_link AS l
WHERE
    l.parent_id = :id::uuid
    AND (
        :after::uuid IS NULL
        OR (l.name, l.key, l.place) > (
            SELECT o.name, o.key, o.place FROM drumline.task_link AS o WHERE o.child_id = :after AND o.parent_id = :id
        )
    )
ORDER BY l.name, l.key, l.place
LIMIT :limit::int4
