-- begin a bulk operation. One without tasks has ended at once.
INSERT INTO bulk (id, tenant, act, request, rate, state, total, tokens_at, created_at, finished_at)
VALUES (
    :id, :tenant, :act, :request, :rate, CASE WHEN :total > 0 THEN 'running' ELSE 'completed' END, :total, :now, :now,
    CASE WHEN :total > 0 THEN NULL ELSE :now END
)
