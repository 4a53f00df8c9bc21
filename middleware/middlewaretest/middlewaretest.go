// Package middlewaretest checks that a middleware keeps the contract of package
// middleware: it drives it through the contract's sentences and, where one is
// broken, quotes the sentence and says what happened.
//
// Most sentences stand in the docs of [middleware.ToolCaller],
// [middleware.Middleware] and [middleware.Call]. Five follow from what a chain
// promises as a whole:
//
//   - No lock is held across next.
//   - The values and the deadline of the context reach next.
//   - What next answered with as an error stays in the tree of the error that is returned.
//   - A call that is not safe to repeat is sent once, unless it certainly did not leave.
//   - A panic further in leaves nothing stuck.
//
// Every check runs in a bubble of testing/synctest, so that an hour costs
// nothing. Three things follow. State belongs to what the middleware was applied
// to, and not to the function that made the middleware: channels, timers and the
// like that were made outside the bubble cannot be used inside it. A middleware
// that talks to a network or another process needs a double for that. And a test
// that calls Run must not itself run inside a bubble.
//
// The next that the middleware is given keeps the contract too. What a
// middleware makes of a next that answers with neither or both of result and
// error is its own affair; [middleware.Recover] is there to mend that.
package middlewaretest

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Run drives the middleware through the contract, one subtest for each
// sentence, with a tool of each class. A middleware that acts only on tools of
// its own choosing is given those as well.
//
// A middleware may refuse a call or answer it by itself: what a sentence says
// about next counts when next is called. Run with -race to have the race
// detector look too.
func Run(t *testing.T, m middleware.Middleware, tools ...*middleware.Tool) {
	t.Helper()
	if m == nil {
		t.Fatal("middlewaretest: Run was given a nil middleware")
	}
	tools = append(classes(), tools...)
	for i, c := range checks {
		broken := false // and not what t.Run says, for the race detector may blame this test for another's race
		t.Run(c.sentence, func(t *testing.T) {
			for _, fault := range c.faults(t, m, tools) {
				broken = true
				t.Errorf("the contract says: %q\nbut with %s", c.sentence, fault)
			}
		})
		if broken && i == 0 {
			t.Fatal("the other checks would hang; mend this one first")
		}
	}
}

// A check is one sentence and what shows that it is broken.
type check struct {
	sentence string
	run      func(p *probe)
}

// faults runs the check in one bubble for each tool and says what it found.
func (c check) faults(t *testing.T, m middleware.Middleware, tools []*middleware.Tool) []string {
	t.Helper()
	var faults []string
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for _, tool := range tools {
		p := &probe{m: m, tool: tool, look: ticker.C, abandoned: make(chan struct{})}
		bubble(t, p.abandoned, func(t *testing.T) {
			p.t, p.mine, p.quit = t, goroutines(), make(chan struct{})
			defer p.end()
			c.run(p)
		})
		for _, fault := range slices.Compact(p.faults) {
			faults = append(faults, fmt.Sprintf("the %s tool %s: %s", tool.Safety(), tool.Name(), fault))
		}
		if p.isStuck {
			break // to see it takes real time, and the next tool would show the same
		}
	}
	return faults
}

// bubble runs f in a bubble and returns when it has ended, or when abandoned is
// closed. A bubble in which a goroutine is blocked for good ends in a panic; the
// check that looks for goroutines names them better, so here it is dropped. One
// in which a goroutine waits for a lock that nobody opens never ends at all.
func bubble(t *testing.T, abandoned <-chan struct{}, f func(t *testing.T)) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if v := recover(); v != nil && !isDeadlock(v) {
				panic(v)
			}
		}()
		synctest.Test(t, f)
	}()
	select {
	case <-ended:
	case <-abandoned:
	}
}

func isDeadlock(v any) bool {
	err, ok := v.(error)
	return ok && err.Error() == "deadlock: main bubble goroutine has exited but blocked goroutines remain"
}

// classes returns a tool of each class, and one of the idempotent writes. The
// names hold no word that inference knows, so that the class stays what it is.
func classes() []*middleware.Tool {
	var tools []*middleware.Tool
	for _, of := range []struct {
		name string
		a    annotation.Annotations
	}{
		{"xyzzy_one", annotation.ReadOnly()},
		{"xyzzy_two", annotation.Write()},
		{"xyzzy_three", annotation.Update()},
		{"xyzzy_four", annotation.Destructive()},
		{"xyzzy_five", annotation.Annotations{}},
	} {
		of.a.Tags = append(make([]string, 0, 4), "kit")
		tools = append(tools, testtool.Of("kit", &mcp.Tool{
			Name:        of.name,
			InputSchema: map[string]any{"type": "object"},
			Meta:        mcp.Meta{"kit": map[string]any{"of": "middlewaretest"}},
		}, of.a))
	}
	return tools
}
