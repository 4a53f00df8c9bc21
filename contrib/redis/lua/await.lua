-- Looks for the answer to a question, and marks that somebody waits for it. KEYS: the question, its mark of attendance.
-- ARGV: milliseconds that the mark lasts. Returns the state, the answer, and the milliseconds that are left.
local what, answer, left = state(KEYS[1], KEYS[2])
if what == 'open' or what == 'left' then
  redis.call('SET', KEYS[2], '1', 'PX', ARGV[1])
  return {'open', '', left}
end
return {what, answer or '', 0}
