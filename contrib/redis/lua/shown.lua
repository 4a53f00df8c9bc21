-- Returns of each question its state, its text and the milliseconds that are left. KEYS: for each the question and its
-- mark of attendance. ARGV: milliseconds that a question is kept after its time.
-- A question is shown until its time is over by the key that keeps it, which outlives the question for ARGV[1].
local all = {}
for i = 1, #KEYS, 2 do
  local q = redis.call('HMGET', KEYS[i], 'v', 'q', 'a', 'over')
  local left, what = redis.call('PTTL', KEYS[i]) - ARGV[1], 'over'
  if q[1] == '1' and not q[3] and not q[4] and left > 0 then
    what = redis.call('EXISTS', KEYS[i + 1]) == 1 and 'open' or 'left'
  end
  all[#all + 1] = what
  all[#all + 1] = what ~= 'over' and q[2] or ''
  all[#all + 1] = left
end
return all
