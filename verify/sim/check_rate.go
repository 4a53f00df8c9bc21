package sim

import (
	"math"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
)

type bucketKey struct{ scope, server, tool string }

// A bucket is a token bucket of the calls that were let through, without those that left.
type bucket struct {
	rate   float64 // a second
	burst  float64
	tokens float64
	at     time.Time
}

const slack = 1e-6

// checkRate: I11. No call passes without a token, and none waits while there is one.
func (w *scenario) checkRate(r *record, call middleware.Call) {
	now := time.Now()
	if s := w.settings; s.perMinute > 0 {
		b := w.bucket(bucketKey{call.Scope, call.Tool.Server, ""}, s.perMinute, s.burst)
		have := b.take(now)
		switch {
		case have < 1-slack:
			w.badf("I11", r, "was let through with %.6f tokens", have)
		case have > 1+slack && w.waited(r, now):
			w.badf("I11", r, "waited %v while there were %.6f tokens", now.Sub(r.entered), have)
		}
	}
	if w.hinted(call.Tool.Server, call.Tool.Name()) {
		b := w.bucket(bucketKey{call.Scope, call.Tool.Server, call.Tool.Name()}, hintPerMinute, 1)
		if have := b.take(now); have < 1-slack {
			w.badf("I11", r, "was let through with %.6f tokens of its tool", have)
		}
	}
}

// waited reports whether the call certainly had to wait at the rate limit, and nowhere before it.
func (w *scenario) waited(r *record, now time.Time) bool {
	if r.law == reads && r.meaning < distinctMeanings {
		return false
	}
	return r.attempts == 1 && r.passes == 1 && r.rogue == honest && r.entered.Before(now) && !w.hinted(r.server, r.tool.name)
}

func (w *scenario) bucket(k bucketKey, perMinute float64, burst int) *bucket {
	b := w.buckets[k]
	if b == nil {
		b = &bucket{rate: perMinute / 60, burst: float64(burst), tokens: float64(burst), at: time.Now()}
		w.buckets[k] = b
	}
	return b
}

func (b *bucket) take(now time.Time) float64 {
	b.tokens = math.Min(b.burst, b.tokens+b.rate*now.Sub(b.at).Seconds())
	b.at = now
	have := b.tokens
	b.tokens--
	return have
}
