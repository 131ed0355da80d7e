-- claim: whether there are lanes of several tenants.
SELECT coalesce(min(lane.tenant) <> max(lane.tenant), false) AS are_several FROM drumline.lane
