package flow

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session that has ended holds nothing: its texts are freed, its bytes are not counted, and one of the same name begins
// anew. A call that returns afterwards adds nothing.
func TestEndFreesASession(t *testing.T) {
	tracker := NewTracker(Limits{})
	call := middleware.Call{ID: "1", Scope: "a", Tool: &middleware.Tool{Server: "mail", Definition: &mcp.Tool{Name: "read"}}}
	text := func(name string, n int) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat(fmt.Sprint(name, n, " "), 1000)}}}
	}
	fill := func(name string) weak.Pointer[session] {
		tracker.User(name, "Read my mail, please.")
		for n := range 20 {
			tracker.Result(name, call, text(name, n), nil, false)
		}
		s := tracker.session(name)
		s.mu.Lock()
		s.settle()
		held := s.held()
		s.mu.Unlock()
		tracker.count(name, s, held)
		return weak.Make(s)
	}
	kept, gone := fill("b"), fill("a")
	before := tracker.total
	under := tracker.session("a") // of a call under way
	tracker.End("a")
	if tracker.total == 0 || tracker.total >= before || tracker.sessions.Contains("a") || tracker.scopes.Contains("a") {
		t.Errorf("%d bytes of %d are counted, sessions %v, scopes %v", tracker.total, before, tracker.sessions.Keys(), tracker.scopes.Keys())
	}
	after := tracker.total
	tracker.take("a", under, call, text("a", 99), nil, false)
	if tracker.total != after || tracker.sessions.Contains("a") {
		t.Errorf("a late result is kept: %d bytes, %d before", tracker.total, after)
	}
	runtime.GC()
	if gone.Value() != nil {
		t.Error("the session is still there")
	}
	if kept.Value() == nil {
		t.Error("the other session is gone")
	}
	if again := tracker.session("a"); again.forgot || len(again.user)+len(again.groups)+len(again.pending) > 0 {
		t.Error("a session of the same name has what was before")
	}
	tracker.End("a")
	tracker.End("b")
	tracker.End("c") // never there
	if tracker.total != 0 || tracker.sessions.Len()+tracker.lost.Len() != 0 {
		t.Errorf("%d bytes and %d sessions are left", tracker.total, tracker.sessions.Len())
	}
}

// What is listed beside sessions is bounded, however many of them begin and end.
func TestEndedSessionsLeaveNothing(t *testing.T) {
	tracker := NewTracker(Limits{Sessions: 10})
	for n := range 200 {
		name := fmt.Sprint("session ", n)
		tracker.User(name, "Hello.")
		tracker.Text(name, Channel{Server: "mail", Via: "tools/list"}, []byte(`{"tools":[{"name":"read"}]}`))
		tracker.End(name)
	}
	if got := tracker.sessions.Len() + tracker.lost.Len() + tracker.scopes.Len(); got != 0 || tracker.listed.Len() != 1 || tracker.total != 0 {
		t.Errorf("%d are left, %d lists, %d bytes", got, tracker.listed.Len(), tracker.total)
	}
}
