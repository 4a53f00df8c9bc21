package mount_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/internal/resolution"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var _ preflight.Resolver = (*mount.ToolResolver)(nil)

// params and result are what a server that is not ours takes and gives.
type params struct {
	mcp.ParamsBase
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type result struct {
	mcp.ResultBase
	Name        string          `json:"name,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

const extension = "io.modelcontextprotocol/tool-resolution"

// foreign returns a server that is not ours. The test sets its capabilities and its tool's mark;
// answer is nil if it does not support tools/resolve.
func foreign(t testing.TB, settings, mark any, answer func(*params) (*result, error)) *mcp.Server {
	t.Helper()
	caps := &mcp.ServerCapabilities{}
	if settings != nil {
		caps.Extensions = map[string]any{extension: settings}
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "foreign", Version: "1"}, &mcp.ServerOptions{Capabilities: caps})
	tool := mcptest.Tool("act", "")
	if mark != nil {
		tool.Meta = mcp.Meta{extension: mark}
	}
	mcptest.Add(server, tool, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return mcptest.Text("done"), nil
	})
	if answer != nil {
		err := mcp.AddReceivingCustomMethod(server, "tools/resolve", func(_ context.Context, _ *mcp.ServerSession, p *params) (*result, error) {
			return answer(p)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return server
}

var resolvable = map[string]any{"resolvable": true}

func TestOnlyOfferingServersAreAsked(t *testing.T) {
	t.Parallel()
	empty := map[string]any{}
	for _, tt := range []struct {
		name           string
		settings, mark any
		server         string
		asked          bool
	}{
		{"announced and marked", empty, resolvable, "files", true},
		{"announced, not marked", empty, nil, "files", false},
		{"marked, not announced", nil, resolvable, "files", false},
		{"settings that we do not know", map[string]any{"v": 2}, resolvable, "files", false},
		{"settings of another type", "yes", resolvable, "files", false},
		{"marked as not resolvable", empty, map[string]any{"resolvable": false}, "files", false},
		{"a mark of another type", empty, map[string]any{"resolvable": "true"}, "files", false},
		{"a bare mark", empty, true, "files", false},
		{"a server without a session", empty, resolvable, "else", false},
	} {
		for _, w := range wireWays {
			if w.name == "process" {
				continue
			}
			t.Run(fmt.Sprint(tt.name, " ", w.name, " ", w.version), func(t *testing.T) {
				t.Parallel()
				// It does not know the method: on legacy HTTP to ask would end the session.
				server := foreign(t, tt.settings, tt.mark, nil)
				if tt.asked {
					server = foreign(t, tt.settings, tt.mark, func(p *params) (*result, error) {
						return &result{Name: p.Name, Annotations: json.RawMessage(`{}`)}, nil
					})
				}
				cs, resolver, sent := wireForms[0].connect(t, server, w)
				tool := *definitionOf(t, cs, "act")
				tool.Server = tt.server
				_, ok, err := resolver.Resolve(mcptest.Context(t), middleware.Call{Tool: &tool})
				if ok != tt.asked || err != nil {
					t.Errorf("ok %v, error %v", ok, err)
				}
				if n := sent.count("tools/resolve") + sent.count("tools/annotations"); n > 0 != tt.asked {
					t.Errorf("asked %d times", n)
				}
				if _, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "act", Arguments: map[string]any{}}); err != nil {
					t.Errorf("the session is dead: %v", err)
				}
			})
		}
	}
}

func TestFailedRequestsAreExplained(t *testing.T) {
	t.Parallel()
	code := func(c int64) func(*params) (*result, error) {
		return func(*params) (*result, error) { return nil, &jsonrpc.Error{Code: c, Message: "because"} }
	}
	answers := func(name, annotations string) func(*params) (*result, error) {
		return func(*params) (*result, error) {
			return &result{Name: name, Annotations: json.RawMessage(annotations)}, nil
		}
	}
	for _, tt := range []struct {
		name               string
		answer             func(*params) (*result, error)
		invalid, permanent bool
		text               string
	}{
		{"-32601: no such method", code(-32601), false, true, "method not found"},
		{"-32602: invalid arguments", code(-32602), true, true, "because"},
		{"-32603: an error of its own", code(-32603), false, false, "because"},
		{"-32021: a capability is missing", code(-32021), false, true, "because"},
		{"a code of the server's", code(-31999), false, false, "because"},
		{"a plain error", func(*params) (*result, error) { return nil, errors.New("broken") }, false, false, "broken"},
		{"about another tool", answers("other", `{}`), false, true, "about another tool"},
		{"annotations that are a list", answers("act", `[]`), false, true, "no object"},
		{"a hint that is a text", answers("act", `{"readOnlyHint":"yes"}`), false, true, "want a boolean"},
		{"too long", answers("act", `{"x":"`+strings.Repeat("a", resolution.MaxAnswer)+`"}`), false, true, "more than"},
	} {
		for _, w := range wireWays {
			if w.name == "process" {
				continue
			}
			t.Run(fmt.Sprint(tt.name, " ", w.name, " ", w.version), func(t *testing.T) {
				t.Parallel()
				cs, resolver, _ := wireForms[0].connect(t, foreign(t, map[string]any{}, resolvable, tt.answer), w)
				tool := definitionOf(t, cs, "act")
				answer, _, err := resolver.Resolve(mcptest.Context(t), middleware.Call{Tool: tool, Arguments: json.RawMessage(`{"a":1}`)})
				if err == nil || !strings.Contains(err.Error(), tt.text) || brief(answer) != "----" {
					t.Fatalf("answer %s, error %v", brief(answer), err)
				}
				if got := middleware.Permanent(err); got != tt.permanent {
					t.Errorf("permanent %v, want %v: %v", got, tt.permanent, err)
				}
				e, ok := errors.AsType[interface {
					error
					InvalidArguments() bool
				}](err)
				if got := ok && e.InvalidArguments(); got != tt.invalid {
					t.Errorf("invalid arguments %v, want %v: %v", got, tt.invalid, err)
				}
				if _, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "act", Arguments: map[string]any{}}); err != nil {
					t.Errorf("the session is dead: %v", err)
				}
			})
		}
	}
}

// The request has the name and the exact arguments; without arguments {}.
func TestQuestionHasTheCallsOwnArguments(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{"id":12345678901234567890}`: `{"id":12345678901234567890}`, "": "{}", " ": "{}", `{"a":{"b":[1.0,null]}}`: `{"a":{"b":[1.0,null]}}`,
	} {
		var got params
		cs, resolver, _ := wireForms[0].connect(t, foreign(t, map[string]any{}, resolvable, func(p *params) (*result, error) {
			got = *p
			return &result{Name: p.Name}, nil
		}), wireWays[1])
		call := middleware.Call{Tool: definitionOf(t, cs, "act"), Arguments: json.RawMessage(arguments)}
		if _, ok, err := resolver.Resolve(mcptest.Context(t), call); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if got.Name != "act" || string(got.Arguments) != want {
			t.Errorf("%q: asked about %s %s", arguments, got.Name, got.Arguments)
		}
		caps, _ := got.Meta[mcp.MetaKeyClientCapabilities].(map[string]any)
		if extensions, _ := caps["extensions"].(map[string]any); extensions[extension] == nil {
			t.Errorf("the client did not announce the extension: %v", got.Meta)
		}
	}
}

func TestResolveEndsWithItsContext(t *testing.T) {
	t.Parallel()
	reached, release := make(chan struct{}), make(chan struct{})
	cs, resolver, _ := wireForms[0].connect(t, foreign(t, map[string]any{}, resolvable, func(p *params) (*result, error) {
		close(reached)
		<-release
		return &result{Name: p.Name}, nil
	}), wireWays[1])
	defer close(release)
	tool := definitionOf(t, cs, "act")
	ctx, cancel := context.WithCancelCause(mcptest.Context(t))
	go func() {
		<-reached
		cancel(errors.New("enough"))
	}()
	if _, _, err := resolver.Resolve(ctx, middleware.Call{Tool: tool}); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("got %v", err)
	}
}

func TestResolverOptionsKeepsTheHostsOwn(t *testing.T) {
	t.Parallel()
	own := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{Extensions: map[string]any{"x/y": map[string]any{}}}}
	o := mount.ResolverOptions(own)
	if len(own.Capabilities.Extensions) != 1 || len(o.Capabilities.Extensions) != 2 {
		t.Errorf("own %v, prepared %v", own.Capabilities, o.Capabilities)
	}
	if bare := mount.ResolverOptions(nil); bare.Capabilities.RootsV2 == nil { //nolint:staticcheck // it is still announced
		t.Errorf("what the SDK announces by itself is gone: %v", bare.Capabilities)
	}
}

func TestResolverPanicsOnWhatIsMissing(t *testing.T) {
	t.Parallel()
	find := func(string) *mcp.ClientSession { return nil }
	for name, f := range map[string]func(){
		"a nil func":   func() { mount.Resolver(nil, mcptest.NewClient()) },
		"no clients":   func() { mount.Resolver(find) },
		"a nil client": func() { mount.Resolver(find, nil) },
	} {
		func() {
			defer func() {
				if v, _ := recover().(string); !strings.HasPrefix(v, "mount: ") {
					t.Errorf("%s: %q", name, v)
				}
			}()
			f()
		}()
	}
}
