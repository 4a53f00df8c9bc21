package redis

import (
	"context"
	"errors"
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
// tool's turn first, and then the server's. A bucket whose tokens are to be counted
// in a moment is shut until then, and the answer is -1.
var take = script(`
local t=redis.call('TIME') local now=t[1]*1000000+t[2]
local id,longest,most,lease,shut=ARGV[1],tonumber(ARGV[2]),tonumber(ARGV[3]),tonumber(ARGV[4]),tonumber(ARGV[5])
local n=#KEYS/3
local rate,burst,have={},{},{}
local left=function()
  for i=1,n do redis.call('ZREM',KEYS[3*i-1],id) redis.call('ZREM',KEYS[3*i],id) end
end
local write=function(i,tokens,at)
  local life=math.min(9e12,math.ceil(((burst[i]-tokens)/rate[i]+at-now)/1000)+1000)
  redis.call('SET',KEYS[3*i-2],string.format('1 %.17g %.0f',tokens,at),'PX',life)
end
for i=1,n do
  rate[i],burst[i]=tonumber(ARGV[3+3*i]),tonumber(ARGV[4+3*i])
  if ARGV[5+3*i]=='1' then
    write(i,0,now+shut)
    redis.call('DEL',KEYS[3*i-1],KEYS[3*i])
  end
end
for i=1,n do
  have[i]=burst[i]
  local s=redis.call('GET',KEYS[3*i-2])
  if s then
    local tokens,at=string.match(s,'^1 (%S+) (%d+)$')
    tokens,at=tonumber(tokens) or 0,tonumber(at) or 0
    if at>now and at<=now+shut then left() return -1 end
    if at>0 and at<=now then
      have[i]=math.min(burst[i],tokens+(now-at)*rate[i])
    else -- rubbish, or the clock was set back
      have[i]=math.min(burst[i],tokens)
      write(i,have[i],now)
    end
  end
  for _,gone in ipairs(redis.call('ZRANGEBYSCORE',KEYS[3*i],'-inf',now-lease,'LIMIT',0,100)) do
    if gone~=id then redis.call('ZREM',KEYS[3*i-1],gone) redis.call('ZREM',KEYS[3*i],gone) end
  end
  local place=redis.call('ZRANK',KEYS[3*i-1],id)
  local count=redis.call('ZCARD',KEYS[3*i-1])
  local ahead=place or count
  local wait=0
  if ahead+1>have[i] then wait=math.min(9e15,math.ceil((ahead+1-have[i])/rate[i])) elseif ahead>0 then wait=1000 end
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
for i=1,n do write(i,have[i]-1,now) end
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

// errShut is how a bucket answers that is shut: each replica keeps to its share.
var errShut = errors.New("redis: the limiter: Redis has just come back; until all replicas know, each keeps to its share")

// Take implements [ratelimit.Shared].
func (l *limiter) Take(ctx context.Context, w ratelimit.Waiter) (time.Duration, error) {
	s, keys := (*Store)(l), l.keys(w)
	var wait int64
	err := s.do(ctx, ofLimiter, func(ctx context.Context) (err error) {
		for {
			first, since := s.returns.first(keys, time.Now())
			args := []any{w.ID, max(w.Longest, 0).Microseconds(), w.Most, waiterLease.Microseconds(), s.contact.settle.Microseconds()}
			for i, b := range w.Buckets {
				args = append(args, strconv.FormatFloat(b.PerSecond/1e6, 'g', -1, 64), b.Burst, first[i])
			}
			if wait, err = take.Run(ctx, s.client, keys, args...).Int64(); err != nil {
				return err
			}
			if s.returns.begun(keys, since) {
				return nil
			} // else the connection was new, to a Redis that has just started
		}
	})
	if err == nil && wait < 0 {
		return 0, errShut
	}
	return time.Duration(min(wait, math.MaxInt64/int64(time.Microsecond))) * time.Microsecond, err
}

// Returns are how a bucket begins after an outage. While Redis was gone the replicas
// kept the quota by themselves, which it counted as a pause; and they do not come
// back at one moment. So each that comes back shuts the buckets that it uses, once,
// for as long as others may take to come back, and then they begin empty.
type returns struct {
	mu      sync.Mutex
	last    time.Time       // zero where there was no outage
	buckets map[string]bool // that have begun since
}

// lately is how long after a return a bucket's first use may come.
const lately = time.Second

// again notes that Redis is back, or has started again.
func (r *returns) again(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.buckets = now, make(map[string]bool)
}

// first reports of each bucket whether this is its first use since Redis came back.
func (r *returns) first(keys []string, now time.Time) (first []bool, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first = make([]bool, len(keys)/3)
	if !r.last.IsZero() && now.Sub(r.last) < lately {
		for i := range first {
			first[i] = !r.buckets[keys[3*i]]
		}
	}
	return first, r.last
}

// begun notes that these buckets were used, and reports whether Redis has not come
// back once more since then.
func (r *returns) begun(keys []string, since time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.last.Equal(since) {
		return false
	}
	if !since.IsZero() && time.Since(since) < lately {
		for i := 0; i < len(keys); i += 3 {
			r.buckets[keys[i]] = true
		}
	}
	return true
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
