-- name: create_alert
-- alert: keep a rule, unless its tenant has another one of that name, or :most of them.
--   :due_at  0 to evaluate it soon, NULL if it is paused
INSERT INTO drumline.alert_rule (id, tenant, name, condition, severity, slo, every_ms, due_at, created_at, since)
SELECT
    :id::uuid, :tenant::text, :name::text, :condition::text, :severity::text, :slo::uuid, :every::int4, :due_at::int8,
    t.now, t.now
FROM (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS t
WHERE (SELECT count(*) FROM drumline.alert_rule AS r WHERE r.tenant = :tenant) < :most::int4
ON CONFLICT DO NOTHING

-- name: alerts
-- alerts: newest first. What is NULL does not narrow.
--   :before  ids below this one
SELECT
    r.id, r.tenant, r.name, r.condition, r.created_at, r.slo, r.due_at, r.muted_until, r.turn, r.state, r.since, r.is_told,
    r.value, r.evaluated_at
FROM drumline.alert_rule AS r
WHERE
    r.id < :before::uuid
    AND (:tenant::text IS NULL OR r.tenant = :tenant)
    AND (:name::text IS NULL OR r.name = :name)
    AND (:state::int2 IS NULL OR r.state = :state)
    AND (:slo::uuid IS NULL OR r.slo = :slo)
ORDER BY r.id DESC
LIMIT :limit::int4

-- name: get_alert
-- alert: one rule.
SELECT
    r.id, r.tenant, r.name, r.condition, r.created_at, r.slo, r.due_at, r.muted_until, r.turn, r.state, r.since, r.is_told,
    r.value, r.evaluated_at
FROM drumline.alert_rule AS r
WHERE r.id = :id::uuid AND (:tenant::text IS NULL OR r.tenant = :tenant)

-- name: lock_alerts
-- change, delete and record alerts: lock the rules in the order of their ids, and read them.
SELECT
    r.id, r.tenant, r.name, r.condition, r.created_at, r.slo, r.due_at, r.muted_until, r.turn, r.state, r.since, r.is_told,
    r.value, r.evaluated_at
FROM drumline.alert_rule AS r
WHERE r.id = any(:ids::uuid []) AND (:tenant::text IS NULL OR r.tenant = :tenant)
ORDER BY r.id
FOR UPDATE

-- name: alerts_of_slo
-- delete an objective: the ids of its rules.
SELECT r.id FROM drumline.alert_rule AS r WHERE r.slo = :slo::uuid

-- name: alert_named
-- change an alert: whether a tenant has another one of that name.
SELECT r.id FROM drumline.alert_rule AS r WHERE r.tenant = :tenant::text AND r.name = :name::text AND r.id <> :id::uuid

-- name: change_alert
-- change an alert that this transaction has locked.
UPDATE drumline.alert_rule AS r
SET
    name = :name::text, condition = :condition::text, severity = :severity::text, every_ms = :every::int4,
    due_at = :due_at::int8, muted_until = :muted_until::int8, turn = r.turn + 1
WHERE r.id = :id::uuid

-- name: delete_alerts
-- delete alerts that this transaction has locked.
DELETE FROM drumline.alert_rule AS r WHERE r.id = any(:ids::uuid [])

-- name: delete_incidents
-- delete alerts: their incidents.
DELETE FROM drumline.alert_incident AS i WHERE i.rule = any(:ids::uuid [])

-- name: due_alerts (postgres)
-- due alerts: those whose time has come, the longest due first, each put off by its interval. Rules that another
-- scheduler takes just now are passed over.
UPDATE drumline.alert_rule AS r
SET due_at = t.now + r.every_ms
FROM (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS t
WHERE
    r.id = any(
        array(
            SELECT d.id FROM drumline.alert_rule AS d
            WHERE
                d.due_at <= coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
            ORDER BY d.due_at
            LIMIT :limit::int4
            FOR UPDATE SKIP LOCKED
        )
    )
RETURNING
    r.id, r.tenant, r.name, r.condition, r.created_at, r.slo, r.due_at, r.muted_until, r.turn, r.state, r.since, r.is_told,
    r.value, r.evaluated_at

-- name: due_alerts (sqlite)
UPDATE alert_rule
SET due_at = :now + every_ms
WHERE id IN (SELECT d.id FROM alert_rule AS d WHERE d.due_at <= :now ORDER BY d.due_at LIMIT :limit)
RETURNING
    id, tenant, name, condition, created_at, slo, due_at, muted_until, turn, state, since, is_told, value, evaluated_at

-- name: place_alerts
-- record alerts: where rules stand that this transaction has locked.
--   :changes  1 for those whose state changes
UPDATE drumline.alert_rule AS r
SET
    state = g.state, since = g.since, is_told = (g.told = 1), value = g.value, evaluated_at = g.at,
    turn = r.turn + g.change
FROM unnest(
    :ids::uuid [], :states::int2 [], :since::int8 [], :told::int2 [], :values::float8 [], :at::int8 [], :changes::int2 []
) AS g (id, state, since, told, value, at, change)
WHERE r.id = g.id

-- name: open_incidents
-- record alerts: rules begin to fire.
INSERT INTO drumline.alert_incident (rule, fired_at, tenant, value, peak)
SELECT g.rule, g.fired_at, g.tenant, g.value, g.value
FROM unnest(:rules::uuid [], :fired_at::int8 [], :tenants::text [], :values::float8 [])
    AS g (rule, fired_at, tenant, value)
WHERE true
ON CONFLICT DO NOTHING

-- name: raise_incidents
-- record alerts: the highest value of incidents that go on.
UPDATE drumline.alert_incident AS i
SET peak = greatest(i.peak, g.value)
FROM unnest(:rules::uuid [], :fired_at::int8 [], :values::float8 []) AS g (rule, fired_at, value)
WHERE i.rule = g.rule AND i.fired_at = g.fired_at AND i.peak < g.value

-- name: close_incidents
-- record alerts: rules fire no more.
UPDATE drumline.alert_incident AS i
SET resolved_at = g.at, reason = g.reason
FROM unnest(:rules::uuid [], :at::int8 [], :reasons::text []) AS g (rule, at, reason)
WHERE i.rule = g.rule AND i.resolved_at IS NULL

-- name: trim_incidents
-- record alerts: forget the oldest incidents of rules, beyond :most of each.
DELETE FROM drumline.alert_incident AS i
WHERE
    i.rule = any(:rules::uuid [])
    AND i.fired_at < (
        SELECT o.fired_at FROM drumline.alert_incident AS o
        WHERE o.rule = i.rule
        ORDER BY o.fired_at DESC
        LIMIT 1 OFFSET :most::int4 - 1
    )

-- name: incidents
-- incidents: the latest first, with what their rules are called now. What is NULL does not narrow.
--   :before_at, :before_rule  those below
SELECT i.rule, i.tenant, r.name, r.severity, i.fired_at, i.resolved_at, i.value, i.peak, i.reason
FROM drumline.alert_incident AS i
INNER JOIN drumline.alert_rule AS r ON i.rule = r.id
WHERE
    (:tenant::text IS NULL OR i.tenant = :tenant)
    AND (:rule::uuid IS NULL OR i.rule = :rule)
    AND (i.fired_at < :before_at::int8 OR (i.fired_at = :before_at AND i.rule < :before_rule::uuid))
ORDER BY i.fired_at DESC, i.rule DESC
LIMIT :limit::int4

-- name: count_firing
-- alerts: how many fire, of all tenants, by severity.
SELECT r.severity, count(*) AS count FROM drumline.alert_rule AS r
WHERE r.state = 2
GROUP BY r.severity
