if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
if ARGV[4] ~= '' then
  if not stands(KEYS[2], ARGV[4]) then return -1 end
  redis.call('HINCRBY', KEYS[2], '#' .. ARGV[4], 1)
end
redis.call('HSET', KEYS[1], 'v', '1', 'state', ARGV[1], 'until', string.format('%.0f', millis() + ARGV[2]), 'run', runid())
redis.call('PEXPIRE', KEYS[1], math.max(0, tonumber(ARGV[2])) + ARGV[3])
return 1
