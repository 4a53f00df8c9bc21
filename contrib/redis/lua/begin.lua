-- Begins a write. KEYS: for each thing that it may change, the thing's token and the writes to it that are in flight.
-- ARGV: the write's ID, milliseconds after which it counts as over. A token that begins with ! is that of a write in
-- flight: nothing is cached under it.
local now, run = millis(), run()
for i = 1, #KEYS, 2 do
  redis.call('ZADD', KEYS[i + 1], now + ARGV[2], ARGV[1])
  local top = redis.call('ZREVRANGE', KEYS[i + 1], 0, 0, 'WITHSCORES')
  local left = math.max(1, math.floor(tonumber(top[2]) - now))
  redis.call('PEXPIRE', KEYS[i + 1], left)
  redis.call('SET', KEYS[i], '!' .. run .. ARGV[1], 'PX', left)
end
return 1
