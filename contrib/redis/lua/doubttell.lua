-- Marks a call in doubt as one that the model was told about. KEYS: as for doubtput. ARGV: its key.
-- Returns 1 if it is there and was not marked.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
return redis.call('HSETNX', KEYS[1], '#' .. ARGV[1], '1')
