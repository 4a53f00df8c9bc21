package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	goredis "github.com/redis/go-redis/v9"
)

// yes returns a remembered approval of ann's.
func yes(id string) approvals.Standing {
	return approvals.Standing{
		ID: id, Scope: "ann", Server: "bank", Tool: "pay", Definition: "d", Class: "dangerous", Arguments: approvals.AnyArguments,
		Since: time.Now(), Until: time.Now().Add(time.Hour),
	}
}

// remembered returns the IDs of what is remembered for ann, as a call and as a person find it.
func remembered(t *testing.T, s approvals.Store) string {
	t.Helper()
	found, err := s.Remembered(t.Context(), "ann", "bank", "pay")
	must(t, err)
	var ids []string
	for _, y := range found {
		ids = append(ids, y.ID)
	}
	listed, err := s.List(t.Context())
	must(t, err)
	if len(listed) != len(found) {
		t.Errorf("%d are found and %d listed", len(found), len(listed))
	}
	return strings.Join(ids, " ")
}

// answers uses a remembered approval for a call.
func answersBy(ctx context.Context, s approvals.Store, call, id string) error {
	err := s.Add(ctx, approvals.Approval{ID: call, State: approvals.Approved, Scope: "ann", Standing: id, Until: time.Now().Add(time.Hour)})
	if err != nil {
		return err
	}
	return s.Advance(ctx, call, approvals.Change{To: approvals.Spent, Scope: "ann", Standing: id})
}

// Copies of keys in Redis, as DUMP writes them.
type copies map[string]string

func copied(t *testing.T, c *goredis.Client, patterns ...string) copies {
	t.Helper()
	all := make(copies)
	for _, pattern := range patterns {
		keys, err := c.Keys(t.Context(), pattern).Result()
		must(t, err)
		for _, key := range keys {
			all[key] = c.Dump(t.Context(), key).Val()
		}
	}
	return all
}

func (all copies) putBack(t *testing.T, c *goredis.Client) {
	t.Helper()
	for key, dump := range all {
		must(t, c.RestoreReplace(t.Context(), key, time.Hour, dump).Err())
	}
}

const (
	entries     = "fairlead:[sy]:*"
	revocations = "fairlead:l:{standing}*"
)

// Whoever can write to Redis does not bring back what was taken back, neither by its old bytes nor by copies of keys.
func TestWhatWasTakenBackStaysSo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		keys []string // that are put back as they were
		want string   // what then is remembered
	}{
		{"the approvals", []string{entries}, "kept"},
		{"the list of revocations", []string{revocations}, ""},
		{"both", []string{entries, revocations}, ""},
		{"all", []string{"fairlead:*"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, ctx := redistest.New(t), t.Context()
			var log lines
			o := redis.Options{Key: key, Timeout: patient, Logger: logTo(&log)}
			here, there := open(t, e.URL(), o).Approvals(), open(t, e.URL(), o).Approvals()
			must(t, here.Remember(ctx, yes("kept")))
			must(t, here.Remember(ctx, yes("revoked")))
			must(t, here.Remember(ctx, yes("before")))
			must(t, here.Forget(ctx, "ann", "before"))
			if got := remembered(t, there); got != "kept revoked" {
				t.Fatalf("before: got %q", got)
			}
			client := raw(t, e)
			old := copied(t, client, tt.keys...)
			must(t, here.Forget(ctx, "ann", "revoked"))
			if got := remembered(t, there); got != "kept" {
				t.Fatalf("it was taken back: got %q", got)
			}
			old.putBack(t, client)
			for i, s := range []approvals.Store{there, here, open(t, e.URL(), o).Approvals()} {
				if got := remembered(t, s); got != tt.want {
					t.Errorf("replica %d: got %q, want %q", i, got, tt.want)
				}
				old.putBack(t, client)
				if err := answersBy(ctx, s, fmt.Sprint("a", i), "revoked"); !errors.Is(err, approvals.ErrNoEffect) {
					t.Errorf("replica %d: it answers: %v", i, err)
				}
			}
			if got := log.count("put back"); (got > 0) != (tt.want == "") {
				t.Errorf("%d lines of the log name it:\n%s", got, &log.text)
			}
			must(t, here.Remember(ctx, yes("revoked"))) // asked again
			if got := remembered(t, there); got != strings.TrimSpace(tt.want+" revoked") {
				t.Errorf("asked again: got %q", got)
			}
		})
	}
}

// What is done to the log of revocations, while an approval is revoked and put back, ends all of them.
func TestLogOfRevocationsIsNotTrusted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		before      func(t *testing.T, c *goredis.Client, head, log string) // the revocation
		after       func(t *testing.T, c *goredis.Client, head, log string)
		restoreHead bool // as it was at first
	}{
		{name: "the head is away meanwhile", before: func(t *testing.T, c *goredis.Client, head, _ string) {
			t.Helper()
			must(t, c.Del(t.Context(), head).Err())
		}, restoreHead: true},
		{name: "the head is rubbish meanwhile", before: func(t *testing.T, c *goredis.Client, head, _ string) {
			t.Helper()
			must(t, c.Set(t.Context(), head, "rubbish", 0).Err())
		}, restoreHead: true},
		{name: "the head is of another kind", before: func(t *testing.T, c *goredis.Client, head, _ string) {
			t.Helper()
			c.Del(t.Context(), head)
			must(t, c.RPush(t.Context(), head, "x").Err())
		}, restoreHead: true},
		{name: "the log is away", after: func(t *testing.T, c *goredis.Client, _, log string) {
			t.Helper()
			must(t, c.Del(t.Context(), log).Err())
		}},
		{name: "the log is of another kind", after: func(t *testing.T, c *goredis.Client, _, log string) {
			t.Helper()
			must(t, c.Set(t.Context(), log, "x", 0).Err())
		}},
		{name: "the log lacks the last one", after: func(t *testing.T, c *goredis.Client, _, log string) {
			t.Helper()
			must(t, c.RPop(t.Context(), log).Err())
		}},
		{name: "another one is in its place", after: func(t *testing.T, c *goredis.Client, _, log string) {
			t.Helper()
			must(t, c.LSet(t.Context(), log, -1, c.LIndex(t.Context(), log, 0).Val()).Err())
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, ctx := redistest.New(t), t.Context()
			o := redis.Options{Key: key, Timeout: patient}
			here, there := open(t, e.URL(), o).Approvals(), open(t, e.URL(), o).Approvals()
			for _, id := range []string{"kept", "revoked", "before"} {
				must(t, here.Remember(ctx, yes(id)))
			}
			must(t, here.Forget(ctx, "ann", "before"))
			if got := remembered(t, there); got != "kept revoked" {
				t.Fatalf("before: got %q", got)
			}
			client := raw(t, e)
			old := copied(t, client, entries)
			lists := copied(t, client, revocations)
			var head, log string
			for key := range lists {
				switch {
				case strings.HasSuffix(key, ":head"):
					head = key
				case strings.HasSuffix(key, ":revoked"):
					log = key
				}
			}
			if tt.before != nil {
				tt.before(t, client, head, log)
			}
			must(t, here.Forget(ctx, "ann", "revoked"))
			if tt.after != nil {
				tt.after(t, client, head, log)
			}
			if tt.restoreHead {
				lists.putBack(t, client)
			}
			replicas := []approvals.Store{there, here, open(t, e.URL(), o).Approvals()}
			if tt.restoreHead { // which the one notices that has revoked it
				replicas[0], replicas[1] = here, there
			}
			for i, s := range replicas {
				old.putBack(t, client)
				if got, err := s.Remembered(ctx, "ann", "bank", "pay"); err != nil || len(got) > 0 {
					t.Errorf("replica %d: got %v, %v", i, got, err)
				}
				if err := answersBy(ctx, s, fmt.Sprint("a", i), "revoked"); !errors.Is(err, approvals.ErrNoEffect) {
					t.Errorf("replica %d: it answers: %v", i, err)
				}
			}
			must(t, there.Remember(ctx, yes("again")))
			if got := remembered(t, here); got != "again" {
				t.Errorf("asked again: got %q", got)
			}
		})
	}
}

// A replica that has had no call since a revocation has seen it a moment later, so that it notices if all of Redis is
// put back to the time before.
func TestReplicaWithoutCallsHasSeenWhatWasTakenBack(t *testing.T) {
	t.Parallel()
	e, ctx := redistest.New(t), t.Context()
	o := redis.Options{Key: key, Timeout: patient}
	first, idle := open(t, e.URL(), o), open(t, e.URL(), o)
	here, there := first.Approvals(), idle.Approvals()
	must(t, here.Remember(ctx, yes("revoked")))
	client := raw(t, e)
	old := copied(t, client, entries, revocations)
	must(t, here.Forget(ctx, "ann", "revoked"))
	must(t, first.Close())
	eventually(t, "it has not seen it", func() bool { return idle.Revocations() == 1 })
	old.putBack(t, client)
	if got := remembered(t, there); got != "" {
		t.Errorf("got %q", got)
	}
	if got := remembered(t, open(t, e.URL(), o).Approvals()); got != "" {
		t.Errorf("a new replica, after that: got %q", got)
	}
}

// If no replica runs that has seen a revocation, all of Redis can be put back to the time before it, as the documentation
// reports.
func TestWholeStorePutBackBeforeAnyReplicaRuns(t *testing.T) {
	t.Parallel()
	e, ctx := redistest.New(t), t.Context()
	o := redis.Options{Key: key, Timeout: patient}
	first := open(t, e.URL(), o)
	must(t, first.Approvals().Remember(ctx, yes("revoked")))
	client := raw(t, e)
	old := copied(t, client, entries, revocations)
	must(t, first.Approvals().Forget(ctx, "ann", "revoked"))
	must(t, first.Close())
	old.putBack(t, client)
	if got := remembered(t, open(t, e.URL(), o).Approvals()); got != "revoked" {
		t.Errorf("got %q: then the documentation is out of date", got)
	}
}

// A new replica notices an older head by an approval that was remembered after it.
func TestHeadOlderThanAnApproval(t *testing.T) {
	t.Parallel()
	e, ctx := redistest.New(t), t.Context()
	o := redis.Options{Key: key, Timeout: patient}
	first := open(t, e.URL(), o)
	s, client := first.Approvals(), raw(t, e)
	must(t, s.Remember(ctx, yes("revoked")))
	lists := copied(t, client, revocations)
	place := ""
	for _, key := range client.Keys(ctx, entries).Val() {
		if client.Type(ctx, key).Val() == "hash" {
			place = key
		}
	}
	old := client.HGet(ctx, place, "revoked").Val()
	must(t, s.Forget(ctx, "ann", "revoked"))
	must(t, s.Remember(ctx, yes("later")))
	must(t, first.Close())
	lists.putBack(t, client)
	must(t, client.HSet(ctx, place, "revoked", old).Err())
	fresh := open(t, e.URL(), o).Approvals()
	for range 2 {
		if got, err := fresh.Remembered(ctx, "ann", "bank", "pay"); err != nil || len(got) != 0 {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

// An earlier version of an approval does not come back after a later one with its ID.
func TestEarlierVersionOfAnApproval(t *testing.T) {
	t.Parallel()
	e, ctx := redistest.New(t), t.Context()
	s, client := open(t, e.URL(), redis.Options{Key: key, Timeout: patient}).Approvals(), raw(t, e)
	must(t, s.Remember(ctx, yes("1")))
	old := copied(t, client, entries)
	narrow := yes("1")
	narrow.Arguments = "only these"
	must(t, s.Remember(ctx, narrow))
	if got, err := s.Remembered(ctx, "ann", "bank", "pay"); err != nil || len(got) != 1 || got[0].Arguments != "only these" {
		t.Errorf("got %+v, %v", got, err)
	}
	old.putBack(t, client)
	if got := remembered(t, s); got != "" {
		t.Errorf("got %q", got)
	}
}

// A copy that lags and takes its primary's address approves nothing of before, and a restart ends the head's era.
func TestPromotedCopyApprovesNothing(t *testing.T) {
	t.Parallel()
	primary, second := redistest.New(t), redistest.New(t)
	address := newVirtual(t, primary)
	ctx, o := t.Context(), redis.Options{Key: key, Timeout: patient}
	s := open(t, address.url(), o).Approvals()
	must(t, s.Remember(ctx, yes("revoked")))
	lagging := raw(t, second)
	must(t, lagging.ReplicaOf(ctx, "127.0.0.1", fmt.Sprint(primary.Port)).Err())
	eventually(t, "the copy has it", func() bool { return lagging.Exists(ctx, lagging.Keys(ctx, "fairlead:y:*").Val()...).Val() > 0 })
	must(t, lagging.ReplicaOf(ctx, "NO", "ONE").Err())
	must(t, s.Forget(ctx, "ann", "revoked"))
	for _, key := range lagging.Keys(ctx, "fairlead:y:*").Val() { // and whoever can write makes it an entry of this run
		for id, text := range lagging.HGetAll(ctx, key).Val() {
			run := lagging.InfoMap(ctx, "server").Val()["Server"]["run_id"]
			must(t, lagging.HSet(ctx, key, id, run[:16]+text[min(16, len(text)):]).Err())
		}
	}
	address.move(second)
	for _, each := range []approvals.Store{open(t, address.url(), o).Approvals(), s} {
		eventually(t, "it does not answer", func() bool {
			got, err := each.Remembered(ctx, "ann", "bank", "pay")
			if len(got) > 0 {
				t.Fatalf("it is back: %v", got)
			}
			return err == nil
		})
	}
	eventually(t, "it is not remembered again", func() bool { return s.Remember(ctx, yes("again")) == nil })
	if got := remembered(t, s); got != "again" {
		t.Errorf("asked again: got %q", got)
	}
}

// Revocations of several replicas at one time are all in the log, and those whose approvals have expired go.
func TestManyRevocations(t *testing.T) {
	t.Parallel()
	e, ctx := redistest.New(t), t.Context()
	o := redis.Options{Key: key, Timeout: patient}
	replicas := []*redis.Store{open(t, e.URL(), o), open(t, e.URL(), o), open(t, e.URL(), o)}
	const each = 30
	for i, s := range replicas {
		for n := range each {
			must(t, s.Approvals().Remember(ctx, yes(fmt.Sprint(i, "-", n))))
		}
	}
	client := raw(t, e)
	old := copied(t, client, entries)
	var all sync.WaitGroup
	for i, s := range replicas {
		all.Go(func() {
			for n := range each {
				for s.Approvals().Forget(ctx, "ann", fmt.Sprint(i, "-", n)) != nil { // others were faster, again and again
				}
			}
		})
	}
	all.Wait()
	old.putBack(t, client)
	for i, s := range append(replicas, open(t, e.URL(), o)) {
		if got := remembered(t, s.Approvals()); got != "" {
			t.Errorf("replica %d: got %q", i, got)
		}
	}
	if got := replicas[0].Revocations(); got < 3*each {
		t.Errorf("%d revocations, want at least %d", got, 3*each)
	}
}
