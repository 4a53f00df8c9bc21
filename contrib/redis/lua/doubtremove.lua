-- Removes a call in doubt. KEYS: as for doubtput. ARGV: its key. Returns 1 if it was there.
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[1], '#' .. ARGV[1])
return redis.call('HDEL', KEYS[1], ARGV[1])
