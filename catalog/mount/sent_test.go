package mount_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

// shown is a person that approves and keeps the bytes that were shown.
type shown struct{ arguments json.RawMessage }

func (s *shown) Confirm(_ context.Context, r hitl.Request) (hitl.Decision, error) {
	s.arguments = bytes.Clone(r.Arguments)
	return hitl.Decision{Verdict: hitl.Approved}, nil
}

// The call that reaches the server over a real session means exactly what the person approved,
// which are exactly the bytes of the caller; and two reads that mean the same are one.
func TestSentCallEqualsTheApprovedOne(t *testing.T) {
	for name, connect := range map[string]func(t *testing.T, server *mcp.Server, version string) *mcp.ClientSession{
		"in memory": func(t *testing.T, server *mcp.Server, version string) *mcp.ClientSession {
			return mcptest.ConnectVersion(t, server, nil, version)
		},
		"over HTTP": func(t *testing.T, server *mcp.Server, version string) *mcp.ClientSession {
			cs, _ := mcptest.ConnectHTTP(t, server, nil, version)
			return cs
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, version string) {
				var mu sync.Mutex
				var got []string
				server := mcptest.New()
				for _, name := range []string{"delete_file", "list_notes"} {
					mcptest.Add(server, mcptest.Tool(name, ""), func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
						mu.Lock()
						defer mu.Unlock()
						got = append(got, string(arguments))
						return mcptest.Text("done"), nil
					})
				}
				person := new(shown)
				caller := wholeWith(connect(t, server, version), person, time.Minute)
				rapid.Check(t, func(rt *rapid.T) {
					given, again := written(rt)
					got = got[:0]
					call := func(name, arguments string) {
						c := middleware.Call{Tool: unclassed(t, "srv", name), Arguments: json.RawMessage(arguments)}
						c.Scope = given // one memory for each
						if _, err := caller.CallTool(mcptest.Context(t), c); err != nil {
							rt.Fatalf("%s%s: %v", name, arguments, err)
						}
					}
					call("delete_file", given)
					if string(person.arguments) != given {
						rt.Fatalf("shown %q, given %q", person.arguments, given)
					}
					call("list_notes", given)
					call("list_notes", again)
					if len(got) != 2 {
						rt.Fatalf("%q and %q mean the same and were asked %d times", given, again, len(got)-1)
					}
					for _, arguments := range got {
						if same(rt, arguments) != same(rt, given) {
							rt.Fatalf("sent %q, approved %q", arguments, given)
						}
					}
				})
			})
		})
	}
}

// oneCase keeps two names of one object from differing only in case.
func oneCase(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// written draws an object and returns two ways to write it, which differ in the order of
// its members, in white space and in escapes.
func written(t *rapid.T) (one, other string) {
	awkward := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "id", "it", "a\"b", "\\", "<&>", "\x00", "\u2028", "e\u0301", "\U0001F600"}))
	value := rapid.OneOf(
		rapid.SampledFrom([]any{nil, true, false, json.Number("-0"), json.Number("1.0"), json.Number("9007199254740993"), json.Number("5e-324")}),
		rapid.Map(awkward, func(s string) any { return s }),
		rapid.Map(rapid.SliceOfN(awkward, 0, 3), func(list []string) any { return list }),
		rapid.Map(rapid.MapOfN(rapid.Map(awkward, oneCase), awkward, 0, 3), func(object map[string]string) any { return object }),
	)
	object := rapid.MapOfN(rapid.Map(awkward, oneCase), value, 0, 4).Draw(t, "object")
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var members []string
	for name, value := range object { // in any order
		var member bytes.Buffer
		enc := json.NewEncoder(&member)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "\t")
		if err := errors.Join(enc.Encode(name), member.WriteByte(':'), enc.Encode(value)); err != nil {
			t.Fatal(err)
		}
		members = append(members, member.String())
	}
	return string(raw), "{" + strings.Join(members, ",") + "}"
}

// same is the canonical form: two texts mean the same if theirs is one.
func same(t *rapid.T, arguments string) string {
	t.Helper()
	form, err := canonical.AppendObject(nil, []byte(arguments))
	if err != nil {
		t.Fatalf("%q: %v", arguments, err)
	}
	return string(form)
}
