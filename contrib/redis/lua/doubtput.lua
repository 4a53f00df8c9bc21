-- Enters a call in doubt. KEYS: the entries of its scope and tool, and when each was made.
-- ARGV: its key, the sealed entry, when it was made, milliseconds that it is in doubt, how many there may be, 1 if the
-- model was told about it.
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if ARGV[6] == '1' then redis.call('HSET', KEYS[1], '#' .. ARGV[1], '1') end
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
while redis.call('ZCARD', KEYS[2]) > tonumber(ARGV[5]) do
  local oldest = redis.call('ZPOPMIN', KEYS[2])[1]
  redis.call('HDEL', KEYS[1], oldest, '#' .. oldest)
end
for i = 1, 2 do
  if redis.call('PTTL', KEYS[i]) < tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[i], ARGV[4]) end
end
return 1
