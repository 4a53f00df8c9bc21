package redis

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A sealed value proves that a replica has written it, and not that it is still there. So each revocation is entered in
// a log before its approval is deleted, and an approval counts only if the log has no later revocation of it. The log
// has a sealed head with its length and a hash over it. Each replica remembers the newest head that it has seen, so
// that an older one is noticed, as is a log that lacks an entry. All remembered approvals are then ended, by a head of a
// new era. A call costs one read of the head, however many approvals and revocations there are: a replica reads
// each revocation once.

const (
	// maxRevoked is the maximum number of revocations in the log. With one more, all remembered approvals are ended.
	maxRevoked = 100_000
	// longLog is the length from which a log is tidied, by moving some entries with each new one.
	longLog = 1000
	moved   = 2
	// keepRevoked is how long a revocation counts whose approval is not there: longer than an approval lasts.
	keepRevoked = 366 * 24 * time.Hour
	// seenEvery is how often each replica looks at the head without a call.
	seenEvery = time.Second
	// headTries is how often a head is read, or written, that other replicas change meanwhile.
	headTries = 20
)

// A head is the state of the log of revocations. The zero value counts nothing.
type head struct {
	Era     int64  `json:"era"` // what was remembered in an earlier one has ended
	Run     string `json:"run"` // of the server at which the era began
	Count   int64  `json:"count"`
	Chain   []byte `json:"chain,omitempty"`  // hash over the revocations of the era
	Dropped int64  `json:"dropped"`          // of these, the oldest, which the log has no longer, since their approvals have expired
	Before  []byte `json:"before,omitempty"` // the hash over those
}

// older reports whether a head cannot come after another one, which has been seen.
func (h head) older(seen head) bool {
	return h.Era < seen.Era || h.Era == seen.Era && (h.Count < seen.Count || h.Dropped < seen.Dropped ||
		h.Count == seen.Count && !bytes.Equal(h.Chain, seen.Chain))
}

// A revocation is an entry of the log: the hash of a scope and an ID, and the time when its approval would have expired.
type revocation struct {
	name  string
	until time.Time
}

func (r revocation) String() string { return strconv.FormatInt(r.until.UnixMilli(), 10) + " " + r.name }

func parseRevocation(text string) revocation {
	until, name, _ := strings.Cut(text, " ")
	millis, _ := strconv.ParseInt(until, 10, 64)
	return revocation{name, time.UnixMilli(millis)}
}

func chained(before []byte, text string) []byte {
	sum := sha256.Sum256(append(slices.Clone(before), text...))
	return sum[:]
}

// revocations are those that this process has seen, of the era of the newest head.
type revocations struct {
	turn chan struct{} // held by the one that reads or writes a head that is new to this process

	mu    sync.RWMutex
	raw   string // the newest head as it is in Redis, "" before the first
	head  head
	log   []revocation     // since head.Dropped
	ended map[string]int64 // by name, the last one's place in the log, which begins with 1
}

func newRevocations() *revocations {
	return &revocations{turn: make(chan struct{}, 1), ended: make(map[string]int64)}
}

// seen returns the newest head, and whether it is the one that is in Redis as raw.
func (s *revocations) seen(raw string) (head, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.head, raw != "" && raw == s.raw
}

// counts reports whether an approval of some name counts that was remembered in an era at a place in the log.
func (s *revocations) counts(name string, era, born int64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return era == s.head.Era && born >= s.ended[name]
}

// knows reports whether a revocation of some name has been seen.
func (s *revocations) knows(name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.ended[name] > 0
}

// take takes over a head that is newer than the last one, with the newest entries of its log. It returns false, and
// changes nothing, if these are not the ones that the head counts.
func (s *revocations) take(raw string, h head, newest []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.head
	over := h.Era != from.Era || from.Count < h.Dropped // what was known has ended, or all of it has expired
	if over {
		from = head{Count: h.Dropped, Chain: h.Before, Dropped: h.Dropped}
	}
	chain := from.Chain
	for _, text := range newest {
		chain = chained(chain, text)
	}
	if from.Count+int64(len(newest)) != h.Count || !bytes.Equal(chain, h.Chain) {
		return false
	}
	if over {
		s.log, s.ended = nil, make(map[string]int64)
	}
	for i, text := range newest {
		r := parseRevocation(text)
		s.log, s.ended[r.name] = append(s.log, r), from.Count+int64(i)+1
	}
	for at := from.Dropped + 1; at <= h.Dropped; at++ {
		if name := s.log[0].name; s.ended[name] == at {
			delete(s.ended, name)
		}
		s.log = s.log[1:]
	}
	s.raw, s.head = raw, h
	return true
}

// missing returns how many entries of a head's log have not been seen.
func (s *revocations) missing(h head) int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if h.Era != s.head.Era {
		return h.Count - h.Dropped
	}
	return h.Count - max(h.Dropped, s.head.Count)
}

// after returns the head that follows with one more revocation, and what is added to the log for it. Of the oldest ones
// drop go: those that have expired, and of a long log a few that have not, which are added again, so that one that
// lasts long does not keep all that come after it.
func (s *revocations) after(r revocation) (next head, added []string, drop int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	next = s.head
	for _, old := range s.log {
		if time.Now().Before(old.until) {
			if len(s.log) < longLog || len(added) == moved {
				break
			}
			added = append(added, old.String())
		}
		drop++
		next.Before = chained(next.Before, old.String())
	}
	added = append(added, r.String())
	for _, text := range added {
		next.Chain = chained(next.Chain, text)
	}
	next.Count += int64(len(added))
	next.Dropped += drop
	return next, added, drop
}

var (
	putHead = script("head")
	since   = script("since")
)

// headKeys returns the keys of the head and of the log of revocations.
func (r record) headKeys() []string {
	name := r.seal.name("standing")
	return []string{r.key("l", "standing", name, "head"), r.key("l", "standing", name, "revoked")}
}

// rawHead returns the head as it is in Redis, "" if there is none.
func (r record) rawHead(ctx context.Context) (raw string, err error) {
	key := r.headKeys()[0]
	err = r.do(ctx, ofApprovals, key, func(ctx context.Context) error {
		all, err := r.client.MGet(ctx, key).Result() // which has nil for what is missing
		if err == nil && all[0] != nil {
			raw, _ = all[0].(string)
		}
		return err
	})
	return raw, err
}

func (r record) openHead(raw string) (h head, ok bool) {
	form, ok := r.seal.open(r.headKeys()[0], []byte(raw))
	return h, ok && json.Unmarshal(form, &h) == nil && h.Era > 0 && 0 <= h.Dropped && h.Dropped <= h.Count
}

// valid reports whether the server at which a head's era began still runs. Another one may lack what was taken back.
func (r record) valid(h head) bool { return h.Era > 0 && r.runs.live(h.Run+".") }

// current returns the head that is in Redis, and false if none is there that counts.
func (r record) current(ctx context.Context) (head, bool, error) {
	raw, err := r.rawHead(ctx)
	if err != nil {
		return head{}, false, err
	}
	if h, same := r.revoked.seen(raw); same {
		return h, r.valid(h), nil
	}
	var h head
	var ok bool
	err = r.inTurn(ctx, func() (err error) { _, h, ok, err = r.follow(ctx); return err })
	return h, ok, err
}

// inTurn does something while no other goroutine reads or writes a head that is new.
func (r record) inTurn(ctx context.Context, what func() error) error {
	select {
	case r.revoked.turn <- struct{}{}:
		defer func() { <-r.revoked.turn }()
		return what()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errHeadChanges = errors.New("redis: approvals: other replicas change what was taken back again and again; try again")

// follow is current for a goroutine that has its turn, and returns the head as it is in Redis as well.
func (r record) follow(ctx context.Context) (raw string, h head, ok bool, err error) {
	for range headTries {
		if raw, err = r.rawHead(ctx); err != nil {
			return "", head{}, false, err
		}
		if h, same := r.revoked.seen(raw); same {
			return raw, h, r.valid(h), nil
		}
		if h, ok = r.openHead(raw); !ok || !r.valid(h) {
			return raw, head{}, false, nil
		}
		seen, _ := r.revoked.seen("")
		if h.older(seen) {
			if _, _, err := r.end(ctx, raw, "the head of the log of revocations is older than one that was seen"); err != nil {
				return "", head{}, false, err
			}
			continue
		}
		newest, same, err := r.newest(ctx, raw, r.revoked.missing(h))
		switch {
		case err != nil:
			return "", head{}, false, err
		case !same:
			continue
		case !r.revoked.take(raw, h, newest):
			if _, _, err := r.end(ctx, raw, "the log of revocations is not the one of its head"); err != nil {
				return "", head{}, false, err
			}
			continue
		}
		if seen.Era == 0 && !r.seal.current(r.headKeys()[0], []byte(raw)) {
			_, _ = r.put(ctx, raw, h, nil, 0) // so that it can be read when the other key goes
			continue
		}
		return raw, h, true, nil
	}
	return "", head{}, false, errHeadChanges
}

// newest returns the newest entries of the log, and false if the head is another one meanwhile.
func (r record) newest(ctx context.Context, raw string, n int64) (all []string, same bool, err error) {
	if n == 0 {
		return nil, true, nil
	}
	got, err := r.run(ctx, ofApprovals, since, r.headKeys(), raw, n).Slice()
	if err != nil || len(got) == 0 || got[0] != int64(1) {
		return nil, false, err
	}
	for _, one := range got[1:] {
		text, _ := one.(string)
		all = append(all, text)
	}
	return all, true, nil
}

// put replaces a head, and adds revocations to the log. It returns false if another replica was faster.
func (r record) put(ctx context.Context, raw string, h head, added []string, drop int64) (bool, error) {
	form, err := json.Marshal(h)
	if err != nil {
		return false, fmt.Errorf("redis: %w", err)
	}
	sealed, err := r.seal.seal(nil, r.headKeys()[0], form)
	if err != nil {
		return false, err
	}
	args := []any{raw, sealed, drop}
	for _, text := range added {
		args = append(args, text)
	}
	done, err := r.run(ctx, ofApprovals, putHead, r.headKeys(), args...).Bool()
	if err != nil || !done {
		return false, err
	}
	return r.revoked.take(string(sealed), h, added), nil
}

// end begins a new era, which ends all approvals that are remembered. It returns false if another replica was faster.
func (r record) end(ctx context.Context, raw, why string) (h head, done bool, err error) {
	run, err := r.run(ctx, ofApprovals, pulse, r.headKeys()).Text()
	if err != nil {
		return head{}, false, err
	}
	seen, _ := r.revoked.seen("")
	h = head{Era: max(time.Now().UnixMicro(), seen.Era+1), Run: run}
	if done, err = r.put(ctx, raw, h, nil, -1); done && why != "" {
		r.said.log.LogAttrs(ctx, slog.LevelWarn, "redis: all remembered approvals are ended, since the revocations in Redis were put back to an earlier state or are lost",
			slog.String("why", why))
	}
	return h, done, err
}

// begun returns the head under which an approval is remembered: a new one if none counts.
func (r record) begun(ctx context.Context) (h head, err error) {
	h, ok, err := r.current(ctx)
	if err != nil || ok {
		return h, err
	}
	err = r.inTurn(ctx, func() error {
		for range headTries {
			var raw string
			if raw, h, ok, err = r.follow(ctx); err != nil || ok {
				return err
			}
			if h, ok, err = r.end(ctx, raw, r.lost()); err != nil || ok {
				return err
			}
		}
		return errHeadChanges
	})
	return h, err
}

// revoke enters a revocation in the log, and returns the head that counts it. If no head counts, a new era begins: one
// that was away would count what is revoked now.
func (r record) revoke(ctx context.Context, scope, id string, until time.Time) (h head, err error) {
	its := revocation{r.revokedName(scope, id), until}
	err = r.inTurn(ctx, func() error {
		for range headTries {
			raw, _, ok, err := r.follow(ctx)
			if err != nil {
				return err
			}
			var done bool
			next, added, drop := r.revoked.after(its)
			switch {
			case !ok:
				h, done, err = r.end(ctx, raw, r.lost())
			case next.Count-next.Dropped > maxRevoked:
				h, done, err = r.end(ctx, raw, fmt.Sprintf("more than %d are in the log", maxRevoked))
			default:
				done, err = r.put(ctx, raw, next, added, drop)
				h = next
			}
			if err != nil || done {
				return err
			}
		}
		return errHeadChanges
	})
	return h, err
}

// lost returns what is logged about a head that does not count: nothing, if this process has never seen one.
func (r record) lost() string {
	if seen, _ := r.revoked.seen(""); seen.Era == 0 || !r.valid(seen) { // or Redis has started again
		return ""
	}
	return "the head of the log of revocations is missing or cannot be opened"
}

func (r record) revokedName(scope, id string) string { return r.seal.name("revoked", scope, id) }

// watchRevoked looks at the head until ctx is done, so that a replica has seen also what was taken back while it had no
// call.
func (s *Store) watchRevoked(ctx context.Context) {
	ticker := time.NewTicker(seenEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if s.approves.Load() {
				_, _, _ = record{s}.current(ctx) // what fails is logged, and tried again
			}
		case <-ctx.Done():
			return
		}
	}
}
