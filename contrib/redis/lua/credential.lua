-- Writes a credential, or removes it, for the holder of its lock alone. KEYS: of the credential, of its lock. ARGV: the
-- holder, and the value, "" to remove it. Returns 1 if the holder has the lock.
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
  return 0
end
if ARGV[2] == '' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[2])
end
return 1
