-- Renews a flight, if it is still led with this ticket. KEYS: the flight. ARGV: the ticket, milliseconds that it lasts.
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
