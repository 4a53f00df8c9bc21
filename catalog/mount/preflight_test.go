package mount_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount/serve"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An approver gives the answers of the test in turn, and then denies.
type approver struct {
	mu      sync.Mutex
	asked   []string
	answers []hitl.Decision
}

func (a *approver) Confirm(_ context.Context, r hitl.Request) (d hitl.Decision, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, fmt.Sprint(r.Tool.Name(), " ", r.Tool.Safety(), " ", string(r.Arguments)))
	if len(a.answers) > 0 {
		d, a.answers = a.answers[0], a.answers[1:]
	}
	return d, nil
}

func (a *approver) want(t testing.TB, questions ...string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Equal(a.asked, questions) {
		t.Errorf("asked\n%q, want\n%q", a.asked, questions)
	}
	a.asked = nil
}

var yes = hitl.Decision{Verdict: hitl.Approved, By: "test"}

// host is a whole host of one server: it asks before every write.
func host(t testing.TB, cs *mcp.ClientSession, resolver preflight.Resolver, trusted bool, person hitl.Confirmer) func(tool, arguments string) error {
	t.Helper()
	tools := catalog.New(catalog.Options{})
	if err := tools.Add(mcptest.Context(t), "files", cs); err != nil {
		t.Fatal(err)
	}
	if trusted {
		tools.Trust("files")
	}
	judge := preflight.New(preflight.Options{Resolver: resolver, Trusted: func(string) bool { return trusted }})
	caller := chain.Standard{
		Preflight: judge,
		Confirm:   hitl.New(person, hitl.Options{Writes: true}),
	}.Then(tools)
	return func(name, arguments string) error {
		tool, ok := tools.Lookup("files", name)
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		_, err := caller.CallTool(mcptest.Context(t), middleware.Call{Tool: tool, Arguments: json.RawMessage(arguments)})
		return err
	}
}

// A read passes without a question, a deletion asks, and an addition that a person
// edits into a deletion is judged and asked about again: over every form and way.
func TestCallIsAsDangerousAsItsArguments(t *testing.T) {
	t.Parallel()
	const read, add, remove = `{"action":"read"}`, `{"action":"append"}`, `{"action":"delete"}`
	for _, f := range wireForms {
		for _, w := range wireWays {
			t.Run(fmt.Sprint(f.name, " ", w.name, " ", w.version), func(t *testing.T) {
				t.Parallel()
				server, person := newResolving(nil), new(approver)
				cs, resolver, sent := f.connect(t, server.server, w)
				call := host(t, cs, resolver, true, person)
				executed := func(calls ...string) {
					t.Helper()
					if w.name != "process" {
						server.want(t, calls...)
					}
				}

				if err := call("manage_files", read); err != nil {
					t.Fatal(err)
				}
				person.want(t)
				executed("manage_files" + read)

				if err := call("manage_files", remove); !errors.Is(err, hitl.ErrDenied) {
					t.Errorf("got %v", err)
				}
				person.want(t, "manage_files dangerous "+remove)
				executed("manage_files" + read)

				edited := yes
				edited.Arguments = json.RawMessage(remove)
				person.answers = []hitl.Decision{edited, yes}
				if err := call("manage_files", add); err != nil {
					t.Errorf("got %v", err)
				}
				person.want(t, "manage_files moderate "+add, "manage_files dangerous "+remove)
				executed("manage_files"+read, "manage_files"+remove)

				edited.Arguments = json.RawMessage(`{"path":"a"}`) // not what the schema wants
				person.answers = []hitl.Decision{edited, yes}
				if err := call("manage_files", add); !errors.Is(err, hitl.ErrDenied) {
					t.Errorf("got %v", err)
				}
				person.want(t, "manage_files moderate "+add)

				invalid, _ := errors.AsType[*preflight.InvalidArgumentsError](call("manage_files", `{}`))
				if invalid == nil {
					t.Error("invalid arguments were sent")
				}
				person.want(t)
				executed("manage_files"+read, "manage_files"+remove)

				// Each call and each edit was asked about once, and nothing twice.
				if got := sent.count(f.method); got != 7 {
					t.Errorf("%s was sent %d times, want 7", f.method, got)
				}
			})
		}
	}
}

// A lying server gains nothing while it is untrusted.
func TestLiarGainsNothing(t *testing.T) {
	t.Parallel()
	for _, f := range wireForms {
		for _, w := range wireWays {
			if w.name == "process" {
				continue
			}
			t.Run(fmt.Sprint(f.name, " ", w.name, " ", w.version), func(t *testing.T) {
				t.Parallel()
				liar, person := newResolving(func(string) string { return "read" }), new(approver)
				cs, resolver, sent := f.connect(t, liar.server, w)
				call := host(t, cs, resolver, false, person)
				for name, about := range resolvingTools {
					for value := range about.answers {
						arguments := fmt.Sprintf(`{%q:%q}`, about.argument, value)
						if err := call(name, arguments); !errors.Is(err, hitl.ErrDenied) {
							t.Errorf("%s %s: %v", name, arguments, err)
						}
						person.want(t, name+" dangerous "+arguments)
					}
				}
				liar.want(t)
				if got := sent.count(f.method); got != 0 { // its answer cannot matter
					t.Errorf("%s was sent %d times", f.method, got)
				}
			})
		}
	}
}

// If an untrusted server's answer is stricter than the inferred class, the answer counts.
func TestUntrustedAnswerRaises(t *testing.T) {
	t.Parallel()
	server := mcptest.New()
	tool := mcptest.Tool("list_notes", "")
	calls := 0
	mcptest.Add(server, tool, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		calls++
		return mcptest.Text("done"), nil
	})
	if err := mountResolve(server, tool); err != nil {
		t.Fatal(err)
	}
	cs, resolver, _ := wireForms[0].connect(t, server, wireWays[1])
	person := new(approver)
	call := host(t, cs, resolver, false, person)
	if err := call("list_notes", `{"purge":true}`); !errors.Is(err, hitl.ErrDenied) {
		t.Errorf("got %v", err)
	}
	person.want(t, `list_notes dangerous {"purge":true}`)
	if err := call("list_notes", `{}`); err != nil || calls != 1 {
		t.Errorf("a read: %v, %d calls", err, calls)
	}
	person.want(t)
}

// The links further in obey the class of the call: its reads are remembered, and its
// writes end what is remembered.
func TestCallsClassReachesMemory(t *testing.T) {
	t.Parallel()
	server, person := newResolving(nil), new(approver)
	cs, resolver, _ := wireForms[0].connect(t, server.server, wireWays[1])
	tools := catalog.New(catalog.Options{})
	if err := tools.Add(mcptest.Context(t), "files", cs); err != nil {
		t.Fatal(err)
	}
	tools.Trust("files")
	if err := tools.Override("files", "filesystem", annotation.Annotations{Freshness: annotation.Shared}); err != nil {
		t.Fatal(err)
	}
	judge := preflight.New(preflight.Options{Resolver: resolver, Trusted: func(string) bool { return true }})
	std := chain.Standard{
		Preflight: judge, Confirm: hitl.New(person, hitl.Options{}), Cache: cache.New(cache.Options{}),
	}
	for _, problem := range chain.Verify(std) {
		t.Error(problem)
	}
	caller := std.Then(tools)
	tool, _ := tools.Lookup("files", "filesystem")
	for _, operation := range []string{"read", "read", "append", "read", "read"} {
		arguments := json.RawMessage(`{"operation":"` + operation + `"}`)
		if _, err := caller.CallTool(mcptest.Context(t), middleware.Call{Tool: tool, Arguments: arguments}); err != nil {
			t.Fatal(err)
		}
	}
	server.want(t, `filesystem{"operation":"read"}`, `filesystem{"operation":"append"}`, `filesystem{"operation":"read"}`)
	server.wantAsked(t, 5) // a cached result is not a cached answer
	person.want(t)
}

// mountResolve has the tool say that it destroys where "purge" is among its arguments.
func mountResolve(server *mcp.Server, tool *mcp.Tool) error {
	return serve.Resolve(server, serve.Resolvable{
		Tool: tool,
		Answers: map[string]annotation.Annotations{
			"lists": annotation.ReadOnly(), "purges": annotation.Destructive(),
		},
		Choose: func(arguments json.RawMessage) string {
			if bytes.Contains(arguments, []byte("purge")) {
				return "purges"
			}
			return "lists"
		},
	})
}
