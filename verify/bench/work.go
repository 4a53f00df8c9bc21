package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const answerText = "3 invoices are open"

var answer = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answerText}}}

// A server counts the calls that reach it, so that a false hit is detected.
type server struct{ calls int }

func (s *server) CallTool(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
	s.calls++
	return answer, nil
}

// check looks at an answer as a host would.
func check(res *mcp.CallToolResult, err error) error {
	if err != nil {
		return err
	}
	if len(res.Content) == 1 {
		if text, ok := res.Content[0].(*mcp.TextContent); ok && text.Text == answerText {
			return nil
		}
	}
	return errors.New("the wrong answer")
}

func newTool(name string, a annotation.Annotations) *middleware.Tool {
	return testtool.New("crm", name, a.Attribute(annotation.Host, ""))
}

var (
	reads  = newTool("find_invoices", annotation.Annotations{ReadOnly: annotation.Yes, Freshness: annotation.Stable})
	writes = newTool("update_invoice", annotation.Update())
	wipes  = newTool("delete_invoice", annotation.Destructive())
)

// An argument is one JSON object of a given size. Another id makes another question of it; other
// white space makes other bytes.
type argument struct {
	raw   json.RawMessage
	id    []byte // eight digits
	space []byte // between two members
}

const (
	spaces = "                " // 16 characters of two kinds: 65,536 ways to write the same
	head   = `{"id":"00000000","query":"unpaid","limit":50,"filter":{"status":["open","late"],"min":100.5,"of":"C-10021"},` + spaces + `"sort":"due","desc":true,`
)

// newArgument returns an argument of exactly so many bytes, at least 180. A large one has a list of objects.
func newArgument(size int) *argument {
	var b strings.Builder
	b.WriteString(head)
	if size > 600 {
		b.WriteString(`"parts":[`)
		for i := 0; b.Len() < size-400; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"title":"part %d","kind":"memo","amount":%d.5,"at":"2026-11-21T16:00:00Z","tags":["a","late"],"body":"%s"}`,
				i, i*37, strings.Repeat("word ", 4+i%16))
		}
		b.WriteString(`],`)
	}
	b.WriteString(`"pad":"`)
	b.WriteString(strings.Repeat("p", size-b.Len()-2) + `"}`)
	raw := []byte(b.String())
	if len(raw) != size || !json.Valid(raw) {
		panic(fmt.Sprintf("an argument of %d bytes came out as %d", size, len(raw)))
	}
	at := bytes.Index(raw, []byte(spaces))
	return &argument{raw: raw, id: raw[7:15], space: raw[at : at+len(spaces)]}
}

// ask makes the n-th question of it.
func (a *argument) ask(n int) {
	for i := range a.id {
		a.id[len(a.id)-1-i] = byte('0' + n%10)
		n /= 10
	}
}

// write writes the same in the n-th way.
func (a *argument) write(n int) {
	for i := range a.space {
		a.space[i] = " \t"[n>>i&1]
	}
}

// turns is how many calls take turns: budget ends a call that comes again and again.
const turns = 16

// A build puts the measured middlewares before a server.
type build func(*server) middleware.ToolCaller

// A work makes n calls through what is built, and checks the results.
type work func(build) func(n int) error

// calling makes some calls by turns, again and again.
func calling(tool *middleware.Tool) work {
	arguments := several(200)
	return reaching(context.Background(), tool, func(n int) json.RawMessage { return arguments[n%turns].raw })
}

// missing makes calls that differ.
func missing(ctx context.Context) work {
	a := newArgument(200)
	return reaching(ctx, reads, func(n int) json.RawMessage {
		a.ask(n)
		return a.raw
	})
}

// reaching makes calls with the n-th arguments, and checks that each one reached the server.
func reaching(ctx context.Context, tool *middleware.Tool, arguments func(n int) json.RawMessage) work {
	return func(with build) func(int) error {
		s, made := new(server), 0
		caller := with(s)
		return func(n int) error {
			before := s.calls
			for range n {
				made++
				if err := check(caller.CallTool(ctx, middleware.Call{Tool: tool, Arguments: arguments(made)})); err != nil {
					return err
				}
			}
			if reached := s.calls - before; reached != n {
				return fmt.Errorf("%d calls reached the server as %d", n, reached)
			}
			return nil
		}
	}
}

// several are arguments of one size that differ.
func several(size int) []*argument {
	all := make([]*argument, turns)
	for i := range all {
		all[i] = newArgument(size)
		all[i].ask(i)
	}
	return all
}

// oursAgreed has a person who approves every call. No peer has that.
func oursAgreed(s *server) middleware.ToolCaller {
	next := ours(cache.Options{})(s)
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		ctx, once := callstate.WithGrant(ctx, &call, annotation.Dangerous, time.Minute, nil)
		defer once.Void()
		return next.CallTool(ctx, call)
	})
}

// asking makes calls with cached results of a size, in the same bytes or in different ones each time.
func asking(size int, fresh bool) work {
	return func(with build) func(int) error {
		s, asked := new(server), 0
		caller, arguments := with(s), several(size)
		return func(n int) error {
			for last := max(asked, 3*turns) + n; asked < last; { // the first ones are misses
				asked++
				a := arguments[asked%turns]
				if fresh {
					a.write(asked)
				}
				if err := check(caller.CallTool(context.Background(), middleware.Call{Tool: reads, Arguments: a.raw})); err != nil {
					return err
				}
			}
			if s.calls > turns {
				return fmt.Errorf("%d calls reached the server, want only the first %d", s.calls, turns)
			}
			return nil
		}
	}
}

// ending is a context that ends after the process.
var ending, _ = context.WithTimeout(context.Background(), time.Hour)

// chained is the chain that the rows measure, with everything switched on and a change.
func chained(o cache.Options, change func(*chain.Standard)) build {
	return func(s *server) middleware.ToolCaller {
		c := chain.Standard{
			Budget:    budget.New(budget.Options{Session: budget.Limit{Calls: 1 << 40}}),
			Confirm:   hitl.New(nil, hitl.Options{}),
			Cache:     cache.New(o),
			Retry:     retry.New(retry.Options{}),
			RateLimit: ratelimit.New(ratelimit.Options{PerMinute: plenty * 60, Burst: math.MaxInt32}),
		}
		change(&c)
		return c.Then(guarded(s))
	}
}

// guarded is an executor with a guard that has the accepted tools, as a catalog is.
func guarded(executor middleware.ToolCaller) middleware.ToolCaller {
	accepted := map[string]*middleware.Tool{reads.Name(): reads, writes.Name(): writes, wipes.Name(): wipes}
	return guard.New(executor, func(_ context.Context, call middleware.Call) (*middleware.Tool, error) {
		tool := accepted[call.Tool.Name()]
		if tool == nil || tool.Server != call.Tool.Server || tool.Digest != call.Tool.Digest {
			return nil, &guard.RefusedError{Tool: call.Tool, Reason: "it is not the one that was accepted"}
		}
		return tool, nil
	})
}

func ours(o cache.Options) build { return chained(o, func(*chain.Standard) {}) }

var oursInTime = chained(cache.Options{}, func(c *chain.Standard) {
	c.Timeout = timeout.New(timeout.Options{Default: time.Minute})
})

var oursAudited = chained(cache.Options{}, func(c *chain.Standard) {
	c.Audit = audit.New(audit.SinkFunc(func(context.Context, audit.Record) error { return nil }), audit.Options{})
})
