package redis

import (
	"context"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/ratelimit"
)

// waiterLease is how long a waiter counts that does not ask any more.
const waiterLease = 2 * time.Second

// Limiter returns the quota of all replicas, for ratelimit.Options.Shared. It
// holds no contents, and works where memory is full.
func (s *Store) Limiter() ratelimit.Shared { return (*limiter)(s) }

type limiter Store

// Of each bucket: its tokens and when they were counted, who waits in the order of
// arrival, and when each of these was last heard of. One after the other: the
// tool's turn first, and then the server's.
var take = script(`
local t=redis.call('TIME') local now=t[1]*1000000+t[2]
local id,longest,most,lease,drain=ARGV[1],tonumber(ARGV[2]),tonumber(ARGV[3]),tonumber(ARGV[4]),ARGV[5]
local n=#KEYS/3
local have,left={},function()
  for i=1,n do redis.call('ZREM',KEYS[3*i-1],id) redis.call('ZREM',KEYS[3*i],id) end
end
for i=1,n do
  local rate,burst=tonumber(ARGV[4+2*i]),tonumber(ARGV[5+2*i])
  have[i]=burst
  local s=redis.call('GET',KEYS[3*i-2])
  if drain=='1' then s='' end
  if s then
    local tokens,at=string.match(s,'^1 (%S+) (%d+)$')
    if tonumber(tokens) then have[i]=math.min(burst,tonumber(tokens)+math.max(0,now-tonumber(at))*rate) else have[i]=0 end
    if not tonumber(tokens) then redis.call('SET',KEYS[3*i-2],string.format('1 0 %.0f',now),'PX',math.ceil(burst/rate/1000)+1000) end
  end
  for _,gone in ipairs(redis.call('ZRANGEBYSCORE',KEYS[3*i],'-inf',now-lease,'LIMIT',0,100)) do
    if gone~=id then redis.call('ZREM',KEYS[3*i-1],gone) redis.call('ZREM',KEYS[3*i],gone) end
  end
  local place=redis.call('ZRANK',KEYS[3*i-1],id)
  local count=redis.call('ZCARD',KEYS[3*i-1])
  local ahead=place or count
  local wait=0
  if ahead+1>have[i] then wait=math.min(9e15,math.ceil((ahead+1-have[i])/rate)) elseif ahead>0 then wait=1000 end
  if wait>0 then
    if wait>longest or (not place and count>=most) then left() return math.max(wait,longest+1) end
    for j=1,i do
      if not redis.call('ZRANK',KEYS[3*j-1],id) then
        local last=redis.call('ZREVRANGE',KEYS[3*j-1],0,0,'WITHSCORES')
        redis.call('ZADD',KEYS[3*j-1],(tonumber(last[2]) or 0)+1,id)
      end
      redis.call('ZADD',KEYS[3*j],now,id)
      redis.call('PEXPIRE',KEYS[3*j-1],math.ceil(lease/500)) redis.call('PEXPIRE',KEYS[3*j],math.ceil(lease/500))
    end
    return wait
  end
end
for i=1,n do
  local rate,burst=tonumber(ARGV[4+2*i]),tonumber(ARGV[5+2*i])
  local rest=have[i]-1
  redis.call('SET',KEYS[3*i-2],string.format('1 %.17g %.0f',rest,now),'PX',math.min(9e12,math.ceil((burst-rest)/rate/1000)+1000))
end
left()
return 0`)

var leave = script(`
for i=1,#KEYS,3 do redis.call('ZREM',KEYS[i+1],ARGV[1]) redis.call('ZREM',KEYS[i+2],ARGV[1]) end return 1`)

func (l *limiter) keys(w ratelimit.Waiter) []string {
	s := (*Store)(l)
	keys := make([]string, 0, 3*len(w.Buckets))
	for _, b := range w.Buckets {
		about, name := s.seal.name("limit", w.Scope, b.Server), "server"
		if b.Tool != "" {
			name = s.seal.name("tool", b.Tool)
		}
		keys = append(keys, s.key("r", about, name), s.key("r", about, name, "line"), s.key("r", about, name, "seen"))
	}
	return keys
}

// Take implements [ratelimit.Shared].
func (l *limiter) Take(ctx context.Context, w ratelimit.Waiter) (time.Duration, error) {
	s, keys := (*Store)(l), l.keys(w)
	drain := len(keys) > 0 && s.drains.first(keys[0], s.contact.back(time.Now()))
	args := []any{w.ID, max(w.Longest, 0).Microseconds(), w.Most, waiterLease.Microseconds(), drain}
	for _, b := range w.Buckets {
		args = append(args, strconv.FormatFloat(b.PerSecond/1e6, 'g', -1, 64), b.Burst)
	}
	var wait int64
	err := s.do(ctx, ofLimiter, func(ctx context.Context) (err error) {
		wait, err = take.Run(ctx, s.client, keys, args...).Int64()
		return err
	})
	return time.Duration(min(wait, math.MaxInt64/int64(time.Microsecond))) * time.Microsecond, err
}

// Drains are the buckets that were emptied since Redis came back: while it was gone
// the replicas kept the quota by themselves, and it counted that as a pause.
type drains struct {
	mu    sync.Mutex
	since time.Time
	done  map[string]bool
}

// first reports whether a bucket is to be emptied: at its first use by this replica
// after Redis came back, unless that was long ago.
func (d *drains) first(bucket string, back time.Time) bool {
	if back.IsZero() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.since.Equal(back) {
		d.since, d.done = back, make(map[string]bool)
	}
	is := !d.done[bucket]
	d.done[bucket] = true
	return is
}

// Leave implements [ratelimit.Shared].
func (l *limiter) Leave(ctx context.Context, w ratelimit.Waiter) {
	s := (*Store)(l)
	s.soon(ctx, func(ctx context.Context) {
		_ = s.do(ctx, ofLimiter, func(ctx context.Context) error {
			return leave.Run(ctx, s.client, l.keys(w), w.ID).Err()
		})
	})
}
