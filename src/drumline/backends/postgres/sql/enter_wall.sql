-- look from within the wall: from now on this connection, which acts as the role of tenants, is one tenant's.
SELECT set_config('drumline.tenant', :tenant::text, false)
