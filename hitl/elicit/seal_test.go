package elicit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var accepted = &mcp.ElicitResult{Action: "accept", Content: yes}

// modern is a request as it comes from a client that can be asked by a result.
func modern() *mcp.CallToolRequest {
	return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: mcp.Meta{
		mcp.MetaKeyProtocolVersion:    mcptest.Modern,
		mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
	}}}
}

func tool(t testing.TB, server, name string, a annotation.Annotations) *middleware.Tool {
	t.Helper()
	out, err := middleware.NewTool(server, &mcp.Tool{Name: name}, a)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A replica is a chain without a wire.
type replica struct {
	middleware.ToolCaller

	mu  sync.Mutex
	ran []middleware.Call
}

func newReplica(c hitl.Confirmer, o hitl.Options) *replica {
	r := new(replica)
	next := guard.New(middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ran = append(r.ran, call)
		return mcptest.Text("done"), nil
	}), func(_ context.Context, call middleware.Call) (*middleware.Tool, error) { return call.Tool, nil })
	r.ToolCaller = hitl.New(c, o)(next)
	return r
}

// ask makes a first leg and returns the state that comes back.
func (r *replica) ask(t testing.TB, call middleware.Call) string {
	t.Helper()
	_, err := r.CallTool(elicit.WithRequest(context.Background(), modern()), call)
	requests, state, ok := fault.InputRequired(err)
	if !ok || len(requests) != 1 {
		t.Fatalf("got %v, want a question", err)
	}
	return state
}

// answer makes a second leg that says yes.
func (r *replica) answer(call middleware.Call, state string) error {
	call.Input = &middleware.Input{State: state, Responses: mcp.InputResponseMap{"fairlead.confirm": accepted}}
	_, err := r.CallTool(elicit.WithRequest(context.Background(), modern()), call)
	return err
}

func (r *replica) want(t testing.TB, runs int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ran) != runs {
		t.Errorf("ran %d times, want %d", len(r.ran), runs)
	}
	for _, call := range r.ran {
		if call.Input != nil {
			t.Errorf("the tool was handed our state: %+v", call.Input)
		}
	}
}

func deletion(t testing.TB) middleware.Call {
	t.Helper()
	return middleware.Call{ID: "1", Scope: "ann", Tool: tool(t, "crm", "delete", annotation.Destructive()), Arguments: json.RawMessage(`{"id":7}`)}
}

// A yes is for the question that was asked, whatever is changed about the call.
func TestAnswerIsSealedToItsQuestion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(c *middleware.Call)
		runs   int
	}{
		{"nothing changed", func(*middleware.Call) {}, 1},
		{"another call ID", func(c *middleware.Call) { c.ID = "2" }, 1},
		{"other arguments", func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"id":8}`) }, 0},
		{"a space more", func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"id": 7}`) }, 0},
		{"another _meta", func(c *middleware.Call) { c.Meta = mcp.Meta{"dry_run": false} }, 0},
		{"another progress token", func(c *middleware.Call) { c.Meta = mcp.Meta{"progressToken": 2} }, 1},
		{"another scope", func(c *middleware.Call) { c.Scope = "bob" }, 0},
		{"another server", func(c *middleware.Call) { c.Tool = tool(t, "erp", "delete", annotation.Destructive()) }, 0},
		{"another tool", func(c *middleware.Call) { c.Tool = tool(t, "crm", "purge", annotation.Destructive()) }, 0},
		{"another definition", func(c *middleware.Call) { other := *c.Tool; other.Digest[0]++; c.Tool = &other }, 0},
		{"another class", func(c *middleware.Call) {
			other := *c.Tool
			other.Annotations = annotation.Annotations{}
			c.Tool = &other
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newReplica(elicit.New(elicit.Options{}), hitl.Options{})
			call := deletion(t)
			state := r.ask(t, call)
			tt.change(&call)
			err := r.answer(call, state)
			r.want(t, tt.runs)
			if tt.runs == 0 && !errors.Is(err, hitl.ErrDenied) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("what is offered to be remembered", func(t *testing.T) {
		t.Parallel()
		wider := false
		r := newReplica(elicit.New(elicit.Options{}), hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true, Patterns: func(context.Context, middleware.Call) []hitl.Pattern {
			if wider {
				return []hitl.Pattern{{{Name: "id", Glob: "*"}}}
			}
			return []hitl.Pattern{{{Name: "id", Value: json.RawMessage(`"7"`)}}}
		}})
		call := deletion(t)
		call.Arguments = json.RawMessage(`{"id":"7"}`)
		state := r.ask(t, call)
		wider = true
		if err := r.answer(call, state); !errors.Is(err, hitl.ErrDenied) {
			t.Errorf("got %v", err)
		}
		r.want(t, 0)
	})
}

// Of a thousand states that were forged, altered, swapped, replayed or kept too long,
// none makes anything run.
func TestForgedAnswersAreRefused(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	other := newReplica(elicit.New(elicit.Options{}), hitl.Options{})
	forge := map[string]func(r *replica, state string) string{
		"one byte altered": func(_ *replica, s string) string {
			b := []byte(s)
			b[random.IntN(len(b))] ^= 1 << random.IntN(7)
			return string(b)
		},
		"cut":    func(_ *replica, s string) string { return s[:random.IntN(len(s))] },
		"longer": func(_ *replica, s string) string { return s + string(rune('A'+random.IntN(26))) },
		"two swap": func(_ *replica, s string) string {
			b := []byte(s)
			i, j := swap(random, b)
			b[i], b[j] = b[j], b[i]
			return string(b)
		},
		"another key's": func(_ *replica, s string) string {
			theirs := other.ask(t, deletion(t))
			return s[:strings.LastIndexByte(s, '.')] + theirs[strings.LastIndexByte(theirs, '.'):]
		},
		"another question's seal": func(r *replica, s string) string {
			theirs := r.ask(t, deletion(t))
			return s[:strings.LastIndexByte(s, '.')] + theirs[strings.LastIndexByte(theirs, '.'):]
		},
		"another call's": func(r *replica, _ string) string {
			call := deletion(t)
			call.Arguments = json.RawMessage(`{"id":8}`)
			return r.ask(t, call)
		},
		"replayed": func(r *replica, s string) string {
			if err := r.answer(deletion(t), s); err != nil {
				t.Error(err)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.ran = nil
			return s
		},
		"random": func(_ *replica, s string) string {
			b := make([]byte, 40)
			for i := range b {
				b[i] = byte(random.Uint32())
			}
			return s[:strings.LastIndexByte(s, '.')+1] + string(bytes.ToValidUTF8(b, nil))
		},
		"a seal for always": func(_ *replica, s string) string {
			return s[:strings.LastIndexByte(s, '.')+1] + "fwAAAAAAAAAA" + s[strings.LastIndexByte(s, '.')+13:]
		},
	}
	variants, refused, askedAnew := 0, 0, 0
	for name, f := range forge {
		for range 100 {
			r := newReplica(elicit.New(elicit.Options{}), hitl.Options{MaxPending: 1000})
			genuine := r.ask(t, deletion(t))
			state := f(r, genuine)
			if state == genuine && name != "replayed" {
				t.Fatalf("%s: nothing was forged", name)
			}
			err := r.answer(deletion(t), state)
			_, _, asks := fault.InputRequired(err)
			switch {
			case errors.Is(err, hitl.ErrDenied):
				refused++
			case asks:
				askedAnew++ // it does not look like ours any more
			default:
				t.Errorf("%s: got %v for %q", name, err, state)
			}
			r.want(t, 0)
			variants++
		}
	}
	t.Logf("%d variants: %d refused, %d asked anew", variants, refused, askedAnew)
	if variants != 1000 || refused < 800 {
		t.Errorf("%d variants, %d refused", variants, refused)
	}
}

// swap returns two places of b that differ.
func swap(random *rand.Rand, b []byte) (i, j int) {
	for b[i] == b[j] {
		i, j = random.IntN(len(b)), random.IntN(len(b))
	}
	return i, j
}

func FuzzState(f *testing.F) {
	r := newReplica(elicit.New(elicit.Options{}), hitl.Options{})
	f.Add(r.ask(f, deletion(f)) + "A")
	f.Add("fairlead.hitl.")
	f.Fuzz(func(t *testing.T, state string) {
		r := newReplica(elicit.New(elicit.Options{}), hitl.Options{})
		if err := r.answer(deletion(t), state); err == nil {
			t.Errorf("%q was accepted", state)
		}
		r.want(t, 0)
	})
}

// An answer is good until the question ends, by the seal and by the store.
func TestLateAnswerIsADenial(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		after time.Duration
		runs  int
	}{{"in time", time.Minute - 1, 1}, {"on the dot", time.Minute, 0}, {"late", time.Hour, 0}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newReplica(elicit.New(elicit.Options{}), hitl.Options{Timeout: time.Minute})
				state := r.ask(t, deletion(t))
				time.Sleep(tt.after)
				if err := r.answer(deletion(t), state); (err == nil) != (tt.runs == 1) {
					t.Errorf("got %v", err)
				}
				r.want(t, tt.runs)
			})
		})
	}
}

// forgetful is a store whose questions never end by themselves, so that the seal is
// alone with the time.
type forgetful struct{ hitl.Store }

func (f forgetful) Add(ctx context.Context, a approvals.Approval) error {
	a.Until = a.Until.Add(time.Hour)
	return f.Store.Add(ctx, a)
}

func TestSealEndsByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(elicit.New(elicit.Options{}), hitl.Options{Timeout: time.Minute, Store: forgetful{approvals.NewMemory()}})
		state := r.ask(t, deletion(t))
		time.Sleep(time.Minute)
		if err := r.answer(deletion(t), state); err == nil || !strings.Contains(err.Error(), "too late") {
			t.Errorf("got %v", err)
		}
		r.want(t, 0)
	})
}

// Of many who answer at once one is heard.
func TestAnswerIsGoodOnce(t *testing.T) {
	t.Parallel()
	r := newReplica(elicit.New(elicit.Options{}), hitl.Options{})
	state := r.ask(t, deletion(t))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { _ = r.answer(deletion(t), state) })
	}
	all.Wait()
	r.want(t, 1)
}

// Replicas that share a key and a store answer for each other, once in all; with
// another key or another store they do not.
func TestReplicas(t *testing.T) {
	t.Parallel()
	key, store := bytes.Repeat([]byte("k"), 32), approvals.NewMemory()
	for _, tt := range []struct {
		name  string
		key   []byte
		store hitl.Store
		runs  int
	}{
		{"the same key and store", key, store, 1},
		{"another key", bytes.Repeat([]byte("q"), 32), store, 0},
		{"another store", key, approvals.NewMemory(), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			one := newReplica(elicit.New(elicit.Options{Key: key}), hitl.Options{Store: store})
			other := newReplica(elicit.New(elicit.Options{Key: tt.key}), hitl.Options{Store: tt.store})
			state := one.ask(t, deletion(t))
			_ = other.answer(deletion(t), state)
			other.want(t, tt.runs)
			_ = other.answer(deletion(t), state)
			other.want(t, tt.runs)
			if tt.runs == 1 {
				_ = one.answer(deletion(t), state)
				one.want(t, 0)
			}
		})
	}
}

// What comes with the state has to be one answer to our one question.
func TestWhatComesWithTheState(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		responses mcp.InputResponseMap
		runs      int
	}{
		{"the answer", mcp.InputResponseMap{"fairlead.confirm": accepted}, 1},
		{"none", nil, 0},
		{"under another name", mcp.InputResponseMap{"confirm": accepted}, 0},
		{"two", mcp.InputResponseMap{"fairlead.confirm": accepted, "more": accepted}, 0},
		{"nil", mcp.InputResponseMap{"fairlead.confirm": (*mcp.ElicitResult)(nil)}, 0},
		{"of another kind", mcp.InputResponseMap{"fairlead.confirm": &mcp.ListRootsResult{}}, 0}, //nolint:staticcheck // a client may still send one
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newReplica(elicit.New(elicit.Options{}), hitl.Options{})
			call := deletion(t)
			call.Input = &middleware.Input{State: r.ask(t, call), Responses: tt.responses}
			_, err := r.CallTool(elicit.WithRequest(t.Context(), modern()), call)
			if (err == nil) != (tt.runs == 1) {
				t.Errorf("got %v", err)
			}
			r.want(t, tt.runs)
		})
	}
}

// An accepted form without a state answers nothing: the call is asked about.
func TestAnswerWithoutAQuestion(t *testing.T) {
	t.Parallel()
	r := newReplica(elicit.New(elicit.Options{}), hitl.Options{})
	if _, _, asks := fault.InputRequired(r.answer(deletion(t), "")); !asks {
		t.Error("it was taken for an answer")
	}
	r.want(t, 0)
}

// A yes to a commit is for the draft that was shown, and for no later one of its name.
func TestAnswerIsSealedToTheDrafts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change string // what the draft's tool answers between the legs
		runs   bool
	}{{"the same draft", `{"id":"d1","to":"ann"}`, true}, {"another draft of its name", `{"id":"d1","to":"eve"}`, false}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			draft := `{"id":"d1","to":"ann"}`
			sent := 0
			next := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				if call.Tool.Name() == "draft" {
					return mcptest.Text(draft), nil
				}
				sent++
				return mcptest.Text("sent"), nil
			})
			caller := hitl.New(elicit.New(elicit.Options{}), hitl.Options{TwoSteps: []hitl.TwoStep{{Server: "mail", Draft: "draft", Commit: "send"}}})(next)
			ctx := elicit.WithRequest(t.Context(), modern())
			drafts := middleware.Call{Tool: tool(t, "mail", "draft", annotation.Write())}
			commits := middleware.Call{Tool: tool(t, "mail", "send", annotation.Destructive()), Arguments: json.RawMessage(`{"draft_id":"d1"}`)}
			if _, err := caller.CallTool(ctx, drafts); err != nil {
				t.Fatal(err)
			}
			_, err := caller.CallTool(ctx, commits)
			_, state, _ := fault.InputRequired(err)
			draft = tt.change
			if _, err := caller.CallTool(ctx, drafts); err != nil {
				t.Fatal(err)
			}
			commits.Input = &middleware.Input{State: state, Responses: mcp.InputResponseMap{"fairlead.confirm": accepted}}
			if _, err = caller.CallTool(ctx, commits); (err == nil) != tt.runs || (sent == 1) != tt.runs {
				t.Errorf("got %v, sent %d times", err, sent)
			}
		})
	}
}
