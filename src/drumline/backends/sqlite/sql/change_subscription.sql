-- change a subscription; what is NULL stays.
UPDATE subscription
SET
    name = coalesce(:name, name),
    filter = coalesce(:filter, filter),
    address = coalesce(:address, address),
    is_enabled = coalesce(:is_enabled, is_enabled),
    disabled_reason = CASE WHEN :is_enabled IS NULL THEN disabled_reason ELSE :reason END
WHERE id = :id
