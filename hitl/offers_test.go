package hitl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/middleware"
)

// After three equal approvals of one person in a row a rule is suggested, and none is made.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	var suggested string
	answer := yes
	ask := hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
		suggested = r.Suggestion
		return answer, nil
	})
	const rule = "Ann approved the last calls of this tool and denied none; you may remember: path under drafts/, any name"
	c := hitl.New(ask, hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true, OfferMembers: true})(guarded(new(executor)))
	for i, tt := range []struct {
		by, path string
		deny     bool
		want     string
	}{
		{"ann", "drafts/a", false, ""},
		{"ANN ", "drafts/b", false, ""},
		{"Ann", "drafts/c", false, ""},
		{"Ann", "drafts/d", false, rule},
		{"Ann", "drafts/e", false, rule},
		{"Ann", "other/e", false, ""}, // not in that folder
		{"Ann", "drafts/f", false, ""},
		{"Ann", "drafts/f", false, ""},
		{"Ann", "drafts/g", false, ""}, // the other folder is among the last three
		{"Ann", "drafts/h", true, rule},
		{"Ann", "drafts/i", false, ""}, // after a denial it begins anew
		{"Ann", "drafts/j", false, ""},
		{"Ann", "drafts/j", false, ""},
		{"Bob", "drafts/k", false, rule},
		{"Bob", "drafts/k", false, ""}, // another person
	} {
		if answer = yes; tt.deny {
			answer = hitl.Decision{}
		}
		answer.By = tt.by
		_, _ = c.CallTool(t.Context(), with(deletes(t), fmt.Sprintf(`{"path":%q}`, tt.path)))
		if suggested != tt.want {
			t.Errorf("call %d: got %q, want %q", i, suggested, tt.want)
		}
	}
}

func TestOffersAreShown(t *testing.T) {
	t.Parallel()
	var got []string
	ask := hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
		for _, o := range r.Offers {
			got = append(got, o.String())
		}
		return yes, nil
	})
	o := hitl.Options{Remember: hitl.Session, Patterns: func(context.Context, middleware.Call) []hitl.Pattern {
		return []hitl.Pattern{{{Name: "path", Glob: "*.txt"}}, {{Name: "path", Glob: "/*"}}, {}, nil}
	}}
	if _, err := hitl.New(ask, o)(guarded(new(executor))).CallTool(t.Context(), deletes(t)); err != nil {
		t.Fatal(err)
	}
	if want := "exactly these arguments|path like *.txt"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	undigested := deletes(t)
	undigested.Tool.Digest = middleware.Digest{}
	got = nil
	_, _ = hitl.New(ask, o)(guarded(new(executor))).CallTool(t.Context(), undigested)
	if got != nil {
		t.Errorf("a definition without a digest: %q is offered", got)
	}
	nothing := o
	nothing.Remember = hitl.Once
	if _, _ = hitl.New(ask, nothing)(guarded(new(executor))).CallTool(t.Context(), deletes(t)); got != nil {
		t.Errorf("a host that allows nothing offers %q", got)
	}
	o.Patterns = func(context.Context, middleware.Call) []hitl.Pattern { panic("boom") }
	res, err := hitl.New(ask, o)(guarded(new(executor))).CallTool(t.Context(), deletes(t))
	wantDenied(t, res, err)
}

// Always is an offer that comes after three approvals that it would have covered, and not before.
func TestAlwaysIsOfferedAfterThree(t *testing.T) {
	t.Parallel()
	names := func(r hitl.Request) string {
		var all []string
		for _, c := range r.Choices() {
			all = append(all, c.Name)
		}
		return strings.Join(all, " ")
	}
	const without, withAlways = "once arguments-session", "once arguments-session arguments-always arguments-always-1-week arguments-always-30-days"
	for _, tt := range []struct {
		name string
		o    hitl.Options
		want []string // for each question
	}{
		{"the same", hitl.Options{}, []string{"a.txt", without, "a.txt", without, "a.txt", without, "a.txt", withAlways}},
		{"others", hitl.Options{}, []string{"a.txt", without, "b.txt", without, "c.txt", without, "a.txt", without}},
		{"a denial between", hitl.Options{}, []string{"a.txt", without, "a.txt", without, "no.txt", without, "a.txt", without, "a.txt", without, "a.txt", without, "a.txt", withAlways}},
		{"a rule", hitl.Options{OfferMembers: true}, []string{"d/a", without, "d/b", without, "d/c", without, "d/d", withAlways}},
		{"at once", hitl.Options{AlwaysAtOnce: true}, []string{"a.txt", withAlways}},
		{
			"a pattern", hitl.Options{Patterns: func(context.Context, middleware.Call) []hitl.Pattern {
				return []hitl.Pattern{{{Name: "path", Glob: "d/*"}}}
			}},
			[]string{"d/a", without + " members-session", "d/b", without + " members-session", "d/c", without + " members-session", "d/d", without + " members-session members-always members-always-1-week members-always-30-days"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.o.Remember = hitl.Always
			var got []string
			c := hitl.New(hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
				got = append(got, names(r))
				if strings.Contains(string(r.Arguments), "no.txt") {
					return hitl.Decision{}, nil
				}
				if strings.HasSuffix(got[len(got)-1], "always") != (len(r.Lifetimes) == 1) && len(r.Lifetimes) != 3 && strings.Contains(got[len(got)-1], "always") {
					t.Errorf("the lifetimes are %v", r.Lifetimes)
				}
				return hitl.Decision{Verdict: hitl.Approved, By: "ann"}, nil
			}), tt.o)(guarded(new(executor)))
			for i := 0; i < len(tt.want); i += 2 {
				_, _ = c.CallTool(t.Context(), with(deletes(t), `{"path":"`+tt.want[i]+`"}`))
				if n := i / 2; len(got) != n+1 || got[n] != tt.want[i+1] {
					t.Fatalf("question %d: got %q, want %q", n, got, tt.want[i+1])
				}
			}
		})
	}
}

// The approvals that lead to always are counted over a restart, by a store that has them, as long as they are one person's,
// of the same bytes, the same definition and class, and not denied since.
func TestAlwaysIsOfferedAfterARestart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		paths  []string // of the calls that are approved before the restart; no.txt is denied
		by     []string // who approves each; "ann" if there are fewer
		second func(*middleware.Tool)
		after  time.Duration
		want   bool
	}{
		{name: "the same", paths: []string{"a.txt", "a.txt", "a.txt"}, want: true},
		{name: "two", paths: []string{"a.txt", "a.txt"}},
		{name: "the last three are the same", paths: []string{"b.txt", "a.txt", "a.txt", "a.txt"}, want: true},
		{name: "another one", paths: []string{"a.txt", "a.txt", "b.txt", "a.txt"}},
		{name: "a denial at the end", paths: []string{"a.txt", "a.txt", "a.txt", "no.txt"}},
		{name: "two people", paths: []string{"a.txt", "a.txt", "a.txt"}, by: []string{"ann", "bob"}},
		{name: "another definition", paths: []string{"a.txt", "a.txt", "a.txt"}, second: func(t *middleware.Tool) { t.Digest[0]++ }},
		{name: "another class", paths: []string{"a.txt", "a.txt", "a.txt"}, second: func(t *middleware.Tool) { t.Annotations = annotation.Annotations{} }},
		{name: "within a month", paths: []string{"a.txt", "a.txt", "a.txt"}, after: 29 * 24 * time.Hour, want: true},
		{name: "after a month", paths: []string{"a.txt", "a.txt", "a.txt"}, after: 31 * 24 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "approvals")
			offered, asked := false, 0
			process := func(calls ...middleware.Call) {
				store, err := approvals.OpenFile(file, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				c := hitl.New(hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
					offered = slices.ContainsFunc(r.Offers, func(o hitl.Offer) bool { return o.Longest == hitl.Always })
					by := "ann"
					if asked < len(tt.by) {
						by = tt.by[asked]
					}
					asked++
					if strings.Contains(string(r.Arguments), "no.txt") {
						return hitl.Decision{By: by}, nil
					}
					return hitl.Decision{Verdict: hitl.Approved, By: by}, nil
				}), hitl.Options{Remember: hitl.Always, Store: store})(guarded(new(executor)))
				for _, call := range calls {
					_, _ = c.CallTool(t.Context(), call)
				}
			}
			for _, path := range tt.paths { // each in a process of its own
				process(with(deletes(t), `{"path":"`+path+`"}`))
			}
			time.Sleep(tt.after)
			last := deletes(t)
			if tt.second != nil {
				other := *last.Tool
				tt.second(&other)
				last.Tool = &other
			}
			process(last)
			if asked != len(tt.paths)+1 || offered != tt.want {
				t.Errorf("%s: asked %d times, always is offered: %t, want %t", tt.name, asked, offered, tt.want)
			}
		})
	}
}

// A finding store counts how its remembered approvals are read.
type finding struct {
	approvals.Store

	finds, all int
}

func (f *finding) Find(ctx context.Context, scope, server, tool, arguments string) ([]approvals.Standing, error) {
	f.finds++
	found, err := f.Store.Remembered(ctx, scope, server, tool)
	return slices.DeleteFunc(found, func(s approvals.Standing) bool {
		return s.Arguments != arguments && s.Arguments != "" && s.Arguments != approvals.AnyArguments
	}), err
}

func (f *finding) Remembered(ctx context.Context, scope, server, tool string) ([]approvals.Standing, error) {
	f.all++
	return f.Store.Remembered(ctx, scope, server, tool)
}

// Of a store that finds by arguments, a call reads what may cover it; the first call of a definition ends those of the
// definition before, of other arguments as well, which do not come back with it.
func TestStoreThatFindsByArguments(t *testing.T) {
	t.Parallel()
	p, store := remembering(hitl.Always), &finding{Store: approvals.NewMemory()}
	c := hitl.New(p, hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true, Store: store})(guarded(new(executor)))
	others := deletes(t)
	others.Arguments = json.RawMessage(`{"path":"others"}`)
	changed := deletes(t)
	changed.Tool.Digest[0]++
	for i, step := range []struct {
		call  middleware.Call
		asked int64
		all   int
	}{{deletes(t), 1, 1}, {others, 2, 1}, {deletes(t), 2, 1}, {others, 2, 1}, {changed, 3, 2}, {changed, 3, 2}, {others, 4, 3}, {deletes(t), 5, 3}} {
		_, _ = c.CallTool(t.Context(), step.call)
		if p.want(t, step.asked); store.all != step.all {
			t.Errorf("%d: all were read %d times, want %d", i, store.all, step.all)
		}
	}
	if store.finds == 0 {
		t.Error("the store's Find was not called")
	}
}
