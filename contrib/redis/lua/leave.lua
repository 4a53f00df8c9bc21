-- Takes a waiter out of its queues. KEYS: for each bucket its tokens, its queue, and when each waiter last asked. ARGV: ID.
for i = 1, #KEYS, 3 do
  redis.call('ZREM', KEYS[i + 1], ARGV[1])
  redis.call('ZREM', KEYS[i + 2], ARGV[1])
end
return 1
