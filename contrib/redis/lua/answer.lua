local what = state(KEYS[1], KEYS[2])
if what == 'open' then
  redis.call('HSET', KEYS[1], 'a', ARGV[2])
  redis.call('ZREM', KEYS[3], ARGV[1])
end
return what
