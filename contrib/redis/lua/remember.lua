-- Stores a remembered approval. KEYS: those of its scope. ARGV: ID, sealed approval, how many there may be,
-- milliseconds that it lasts. Returns 0 if there are too many.
-- That a yes was taken back may have been lost with a restart, so it bears the run too.
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], run() .. ARGV[2])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
return 1
