-- claim: lease the best due tasks of the lanes that these requests can be given, where there are several tenants.
--   :share_*    for some tenants where they stand and what a task raises them by; the others stand at 0
-- Lanes of one tenant are merged by score, and tenants by their shares. All else is as in claim_due:
-- like claim_due, with another share
share AS MATERIALIZED (
    SELECT best.id, best.priority, best.due_at, best.task, count(*) AS wanted
    FROM (
        SELECT f.id, f.priority, f.due_at, f.task
        FROM lane_from AS f
        LEFT JOIN
            unnest(:share_tenants::text [], :share_levels::int8 [], :share_steps::int8 []) AS s (tenant, level, step)
            ON f.tenant = s.tenant
        CROSS JOIN LATERAL (
            SELECT live.due_at
            FROM drumline.task_live AS live
            WHERE
                live.lane = f.id
                AND (live.due_at, live.id) >= (f.due_at, f.task)
                AND live.due_at <= (SELECT clock.now FROM clock)
                AND live.state = 1
            ORDER BY live.due_at, live.id
            LIMIT (SELECT slot.total FROM slot)
        ) AS head
        ORDER BY
            coalesce(s.level, 0) + coalesce(s.step, 1000000)
            * row_number() OVER (PARTITION BY f.tenant ORDER BY head.due_at - f.priority * 60000::int8),
            head.due_at - f.priority * 60000::int8
        LIMIT (SELECT slot.total FROM slot)
    ) AS best
    GROUP BY best.id, best.priority, best.due_at, best.task
)
