package proxy_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
)

// A value that a person approved is among the remembered approvals of the store, and is asked about again once it was
// taken back there.
func TestEndorsedValueIsListedAndTakenBack(t *testing.T) {
	t.Parallel()
	const account = "DE02120300000000202051"
	store := approvals.NewMemory()
	var asked atomic.Int64
	s := newPlain(writeThing, readThing)
	s.answer = func(_, params string) string {
		if strings.Contains(params, "read_thing") {
			return `{"content":[{"type":"text","text":"pay to ` + account + `"}]}`
		}
		return ""
	}
	current := &policy.Policy{Approvals: hitl.Options{Store: store}}
	p := s.proxy(t, proxy.Options{
		Policy: func() *policy.Policy { return current },
		Confirm: hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			asked.Add(1)
			return hitl.Decision{Verdict: hitl.Approved, By: "ann"}, nil
		}),
	})
	c := s.client(t, p)
	c.call(`{"name":"read_thing","arguments":{}}`)
	add := func(want int64) {
		t.Helper()
		c.call(`{"name":"add_thing","arguments":{"account":"` + account + `"}}`)
		if got := asked.Load(); got != want {
			t.Errorf("asked %d times, want %d", got, want)
		}
	}
	add(1)
	add(1)
	all, err := store.List(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("%v: got %v, want one approval", err, all)
	}
	if got, want := all[0].Sentence(), `Do not ask about the source of "`+account+`" as account, which came from plain/read_thing, for this session alone, until it ends, for 8h at most; it can be taken back among the remembered approvals`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := all[0].Terms(); !strings.HasPrefix(got, "by ann, since ") || strings.Contains(got, "used") {
		t.Errorf("got %s", got)
	}
	if err := store.Forget(t.Context(), all[0].Scope, all[0].ID); err != nil {
		t.Fatal(err)
	}
	add(2)
}
