package callstate_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func callOf(arguments string) middleware.Call {
	return middleware.Call{
		Scope: "ann", Tool: &middleware.Tool{Server: "files", Definition: &mcp.Tool{Name: "delete"}}, Arguments: json.RawMessage(arguments),
	}
}

// Any change of a call changes its binding, also a write into the bytes of its arguments, and with
// anything computed before.
func TestBindingFollowsTheCall(t *testing.T) {
	t.Parallel()
	state := callstate.Begin(context.Background())
	call := callOf(`{"path":"a"}`)
	first := callstate.Bind(state, &call)
	if again := callstate.Bind(state, &call); again != first || first != callstate.Bind(nil, &call) {
		t.Error("the binding of the same call differs")
	}
	for name, change := range map[string]func(*middleware.Call){
		"scope":  func(c *middleware.Call) { c.Scope = "bob" },
		"server": func(c *middleware.Call) { c.Tool = &middleware.Tool{Server: "else", Definition: c.Tool.Definition} },
		"name": func(c *middleware.Call) {
			c.Tool = &middleware.Tool{Server: "files", Definition: &mcp.Tool{Name: "purge"}}
		},
		"digest":    func(c *middleware.Call) { other := *c.Tool; other.Digest[0]++; c.Tool = &other },
		"arguments": func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"path":"b"}`) },
		"a byte":    func(c *middleware.Call) { c.Arguments[9] = 'b' },
		"a space":   func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"path": "a"}`) },
		"long, a bit": func(c *middleware.Call) {
			c.Arguments = json.RawMessage(`{"path":"` + strings.Repeat("a", 1000) + `"}`)
		},
	} {
		changed := callOf(`{"path":"a"}`)
		if callstate.Bind(state, &changed) != first {
			t.Fatalf("%s: the binding is not that of the call", name)
		}
		change(&changed)
		if got := callstate.Bind(state, &changed); got == first || got != callstate.Bind(nil, &changed) {
			t.Errorf("%s: the binding does not follow", name)
		}
	}
}
