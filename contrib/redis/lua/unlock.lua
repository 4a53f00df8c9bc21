-- Ends a lock of its holder. KEYS: of the lock. ARGV: the holder. Returns 1 if it was the holder's.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])
