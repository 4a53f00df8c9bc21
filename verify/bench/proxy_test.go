package main

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// This program is the server over stdio too.
func TestMain(m *testing.M) {
	if !serveChild() {
		m.Run()
	}
}

// Every way through a proxy gives the right answers, to one caller and to many.
func TestProxies(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		for _, version := range []string{modern, legacy} {
			for _, at := range []int{1, callers} {
				b := proxied(wire{transport, version}, at)
				t.Run(b.name, func(t *testing.T) {
					r, err := b.run(quick)
					if err != nil {
						t.Fatal(err)
					}
					if want := 2 * min(at, 2); len(r.Ratio) != want {
						t.Errorf("%d ratios, want %d: %v", len(r.Ratio), want, r.Ratio)
					}
				})
			}
		}
	}
}

// Every process between a client and a server of lines hands on each result.
func TestResultsThroughProcesses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it reads the CPU time of a process from a file of Linux")
	}
	for _, at := range []int{1, 4} {
		r, err := results("10KB", 10<<10, at).run(quick)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Ratio) != 3 {
			t.Errorf("%d ratios, want 3: %v", len(r.Ratio), r.Ratio)
		}
	}
}

func TestAnAnswerToAnotherQuestionFails(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "things", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "find_thing", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "thing 0"}}}, nil
		})
	here, there := mcp.NewInMemoryTransports()
	if _, err := s.Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	w := &way{wire: wire{version: legacy}}
	defer w.close()
	var err error
	if w.session, err = w.dial(here); err != nil {
		t.Fatal(err)
	}
	if err := w.one(1); !errors.Is(err, errThing) {
		t.Errorf("one: got %v", err)
	}
	if err := w.many(2); !errors.Is(err, errThing) {
		t.Errorf("many: got %v", err)
	}
}
