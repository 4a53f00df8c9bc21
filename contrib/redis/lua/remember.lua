-- Stores a remembered approval. KEYS: those of its scope, the IDs of those of its tool, and of those of its tool with its
-- arguments. ARGV: ID, sealed approval, how many there may be, milliseconds that it lasts. Returns 0 if there are too many.
-- That a yes was taken back may have been lost with a restart, so it bears the run too.
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], run() .. ARGV[2])
for i = 2, #KEYS do redis.call('SADD', KEYS[i], ARGV[1]) end
for i = 1, #KEYS do
  if redis.call('PTTL', KEYS[i]) < tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[i], ARGV[4]) end
end
return 1
