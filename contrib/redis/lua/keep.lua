local h = '1' .. table.concat(redis.call('MGET', unpack(KEYS, 3)), ',')
if h == ARGV[3] then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
if redis.call('GET', KEYS[2]) == ARGV[3] then redis.call('DEL', KEYS[2]) end
return 1
