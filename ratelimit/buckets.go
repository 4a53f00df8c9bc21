package ratelimit

import (
	"container/list"
	"math"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/time/rate"
)

// How many buckets are kept, at most: one for each server and scope, and one for
// each tool with a limit and scope. What does not fit shares a bucket over all
// scopes.
const (
	maxBuckets  = 10_000
	maxOverflow = 1_000
)

// A limit is a rate and a burst, resolved. The zero value is no limit.
type limit struct {
	rate  rate.Limit // calls a second
	burst int
}

func (l Limit) limit() limit {
	if l.PerMinute == 0 {
		return limit{}
	}
	perSecond := l.PerMinute / 60
	burst := l.Burst
	if burst == 0 {
		burst = int(max(1, min(perSecond, math.MaxInt32)))
	}
	return limit{rate.Limit(perSecond), burst}
}

// A bucket is a token bucket with the queue of those who wait for it.
type bucket struct {
	*rate.Limiter
	limit limit
	queue list.List // of *waiter
	users int       // waiting calls that will take a token here, queued or not yet
}

func newBucket(l limit) *bucket { return &bucket{Limiter: rate.NewLimiter(l.rate, l.burst), limit: l} }

// until returns how long it takes until there are n tokens, if nobody takes any;
// n may be more than the burst. It computes as package rate does, so that AllowN
// agrees: what rounds to 0 is there.
func (b *bucket) until(now time.Time, n int) time.Duration {
	missing := float64(n) - b.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	d := missing / float64(b.limit.rate) * float64(time.Second)
	if d >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(d)
}

// fresh reports whether the bucket is as a new one would be, so that it can be
// forgotten.
func (b *bucket) fresh(now time.Time) bool {
	return b.users == 0 && b.TokensAt(now) >= float64(b.limit.burst)
}

// adopt takes over a limit that has changed, as when a host corrects a hint.
func (b *bucket) adopt(now time.Time, l limit) {
	if b.limit == l {
		return
	}
	b.limit = l
	b.SetLimitAt(now, l.rate)
	b.SetBurstAt(now, l.burst)
	b.wakeFirst()
}

// remove takes out one who waited, at place or not queued yet.
func (b *bucket) remove(place *list.Element) {
	if b == nil {
		return
	}
	b.users--
	if place == nil {
		return
	}
	first := b.queue.Front() == place
	b.queue.Remove(place)
	if first {
		b.wakeFirst()
	}
}

func (b *bucket) wakeFirst() {
	if first := b.queue.Front(); first != nil {
		first.Value.(*waiter).wake()
	}
}

// A key names a bucket: a tool's, or that of a whole server.
type key struct {
	scope, server, tool string
	whole               bool
}

// buckets holds a bounded number of buckets, least recently used first to go. The
// bound never weakens a limit: only a bucket that is as good as new is dropped.
// While none is, new scopes of a server or tool share one bucket, and where even
// these are too many, there is none.
type buckets struct {
	own, shared *simplelru.LRU[key, *bucket]
	max         int
	maxShared   int
}

func newBuckets(own, shared int) *buckets {
	return &buckets{own: newLRU(own), shared: newLRU(shared), max: own, maxShared: shared}
}

func newLRU(size int) *simplelru.LRU[key, *bucket] {
	lru, err := simplelru.NewLRU[key, *bucket](size, nil)
	if err != nil {
		panic("ratelimit: " + err.Error())
	}
	return lru
}

// get returns the bucket for k, nil where there is no room for one.
func (t *buckets) get(now time.Time, k *key, l limit) *bucket {
	if b, ok := t.own.Get(*k); ok {
		b.adopt(now, l)
		return b
	}
	everyone := *k
	everyone.scope = ""
	shared, ok := t.shared.Peek(everyone)
	inUse := ok && shared.users > 0 // by this scope, perhaps
	if !inUse && t.room(now, t.own, t.max) {
		b := newBucket(l)
		if ok && !shared.fresh(now) {
			b.AllowN(now, l.burst) // this scope may have had its burst from the shared one
		}
		t.own.Add(*k, b)
		return b
	}
	if ok {
		t.shared.Get(everyone) // used just now
		shared.adopt(now, l)
		return shared
	}
	if !t.room(now, t.shared, t.maxShared) {
		return nil
	}
	b := newBucket(l)
	t.shared.Add(everyone, b)
	return b
}

// room reports whether one more bucket fits, and drops one that is as good as new
// if it must. It looks at few, so that a flood of keys costs little.
func (*buckets) room(now time.Time, lru *simplelru.LRU[key, *bucket], most int) bool {
	if lru.Len() < most {
		return true
	}
	for range 4 {
		k, b, ok := lru.GetOldest()
		if ok && b.fresh(now) {
			return lru.Remove(k)
		}
		lru.Get(k) // another one's turn next time
	}
	return false
}
