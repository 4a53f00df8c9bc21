// Package middlewaretest checks that a middleware keeps the contract of package middleware, sentence by
// sentence, and quotes each sentence that is broken.
//
// Most sentences are in the docs of [middleware.ToolCaller], [middleware.Middleware] and [middleware.Call].
// Five follow from what a chain promises as a whole:
//
//   - No lock is held across next.
//   - The values and the deadline of the context reach next.
//   - What next answered with as an error stays in the tree of the error that is returned.
//   - A call that is not safe to repeat is sent once, unless it certainly did not leave.
//   - A panic further in leaves nothing stuck.
//
// Every check runs in a bubble of testing/synctest. Channels and timers from outside cannot be used inside it. A
// middleware that makes them in its New is passed as a func that calls New in each application, and one that uses a
// network or another process needs a double for it. A test that calls Run must not itself run inside a bubble.
//
// The next that the middleware is given keeps the contract too: it returns exactly one of result and error.
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

// Run checks the middleware, one subtest for each sentence, with a tool of each class and the given ones, for a
// middleware that acts only on those.
//
// A middleware may refuse a call or answer it by itself: sentences about next count only when next is called.
// Run the test with -race as well.
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

type check struct {
	sentence string
	run      func(p *probe)
}

// faults runs the check in one bubble for each tool and returns its findings.
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

// bubble runs f in a bubble and returns when it has ended, or when abandoned is closed, since one with a goroutine
// that waits for a lock never ends. The check for goroutines reports better than the panic that it drops.
func bubble(t *testing.T, abandoned <-chan struct{}, f func(t *testing.T)) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if v := recover(); v != nil && fmt.Sprint(v) != deadlock {
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

const deadlock = "deadlock: main bubble goroutine has exited but blocked goroutines remain"

// classes returns a tool of each class, and an idempotent write, with names that inference does not know.
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
