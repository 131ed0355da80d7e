-- change a subscription that this transaction has locked; what is NULL stays.
UPDATE drumline.subscription AS s
SET
    name = coalesce(:name::text, s.name),
    filter = coalesce(:filter::text, s.filter),
    address = coalesce(:address::text, s.address),
    is_enabled = coalesce(:is_enabled::bool, s.is_enabled),
    disabled_reason = CASE WHEN :is_enabled IS NULL THEN s.disabled_reason ELSE :reason::text END
WHERE s.id = :id::uuid
