-- probe: write a key for a moment, and publish to a channel if one is named. A server that answers but refuses writes,
-- by an access list or as a replica, refuses this too.
--
-- KEYS  1 probe  string
-- ARGV  1 channel, or nothing
-- GIVES 1
redis.call('SET', KEYS[1], 1, 'PX', 1000)
if ARGV[1] ~= '' then redis.call('PUBLISH', ARGV[1], '') end
return 1
