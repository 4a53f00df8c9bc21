-- Adds an approval. KEYS: the approval, and the remembered approvals of its scope if one of them answered.
-- ARGV: state, milliseconds that it lasts, milliseconds that it is kept after that, the remembered approval's ID or ''.
-- Returns 1; 0 if the ID is known; -1 if the remembered approval is not there any more.
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
if ARGV[4] ~= '' then
  if not stands(KEYS[2], ARGV[4]) then return -1 end
  redis.call('HINCRBY', KEYS[2], '#' .. ARGV[4], 1)
end
redis.call('HSET', KEYS[1], 'v', '1', 'state', ARGV[1], 'until', string.format('%.0f', millis() + ARGV[2]), 'run', runid())
redis.call('PEXPIRE', KEYS[1], math.max(0, tonumber(ARGV[2])) + ARGV[3])
return 1
