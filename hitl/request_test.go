package hitl_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A person is told of characters that can be taken for others.
func TestCaution(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		``:                           "",
		`{}`:                         "",
		`no JSON`:                    "",
		`{"path":"safe"}`:            "",
		`{"path":"a","path":"b"}`:    "", // it is refused
		`{"path":"a","Path":"/etc"}`: "", // it is refused
		`{"to":"p\u0430ypal"}`:       "it has characters that can be taken for others",
		"{\"to\":\"e\u0301\"}":       "it has characters that can be taken for others",
		"{\"to\":\"שלום 12\"}":       "it has characters that can be taken for others",
		`{"to":"Zoë, Łódź, 東京"}`:     "",
		`{"a":{"x":1},"b":{"X":1}}`:  "",
	} {
		got := hitl.Request{Arguments: json.RawMessage(arguments)}.Caution()
		if !strings.HasPrefix(got, want) || (got == "") != (want == "") || len(got) > 300 || strings.ContainsAny(got, "\x1b\u202e\n") {
			t.Errorf("%s: %q, want %q", arguments, got, want)
		}
	}
}

// A person sees that the call may have happened, and what they saw is what they approve.
func TestCautionOfACallInDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := asks(t, `{"to":"p\u0430ypal"}`)
		fresh := r.Digest()
		r.InDoubt = time.Now().Add(-40 * time.Second)
		if got := r.Caution(); !strings.HasPrefix(got, "the same call, 40s ago, may have happened") || !strings.Contains(got, "; it has characters") {
			t.Error(got)
		}
		then := r.Digest()
		time.Sleep(time.Second)
		if then == fresh || then != r.Digest() {
			t.Error("the digest does not cover the doubt, or changes with the time")
		}
	})
}

// withExtra is a call that sends more than its arguments.
func withExtra(tb testing.TB) middleware.Call {
	tb.Helper()
	call := deletes(tb)
	call.Meta = mcp.Meta{"dry_run": "<no>", "progressToken": 7, "traceparent": "00-1"}
	call.Input = &middleware.Input{State: "opaque"}
	return call
}

func TestPersonSeesMetaAndInput(t *testing.T) {
	t.Parallel()
	const want = `{"_meta":{"dry_run":"<no>"},"requestState":"opaque"}`
	for name, tt := range map[string]struct {
		call middleware.Call
		want string
	}{
		"neither":        {deletes(t), ""},
		"both":           {withExtra(t), want},
		"an identifier":  {middleware.Call{Tool: deletes(t).Tool, Meta: mcp.Meta{"vscode.requestId": "r-1"}}, ""},
		"the transports": {middleware.Call{Tool: deletes(t).Tool, Meta: mcp.Meta{"progressToken": 7, mcp.MetaKeyProtocolVersion: "2026-07-28"}}, ""},
	} {
		var asked hitl.Request
		e, store := new(executor), approvals.NewMemory()
		out := new(screen)
		terminal := terminal.New(strings.NewReader("y\n"), out)
		c := hitl.New(hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
			asked = r
			return terminal.Confirm(ctx, r)
		}), hitl.Options{Store: store})(guarded(e))
		if _, err := c.CallTool(t.Context(), tt.call); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		e.want(t, 1)
		if string(asked.Extra) != tt.want {
			t.Errorf("%s: got %s", name, asked.Extra)
		}
		if shown := strings.Contains(out.String(), `_meta.dry_run`) && strings.Contains(out.String(), `"<no>"`) && strings.Contains(out.String(), "opaque"); shown != (tt.want != "") {
			t.Errorf("%s: it shows\n%s", name, out)
		}
	}
}

// How the client identifies a call is there for those who look for it, and not part of what they approve.
func TestIdentifiersOfTheClientAreShownOnRequest(t *testing.T) {
	t.Parallel()
	call := deletes(t)
	call.Meta = mcp.Meta{"claudecode/toolUseId": "toolu_01A", "progressToken": 7}
	var asked hitl.Request
	e, out := new(executor), new(screen)
	terminal := terminal.New(strings.NewReader("d\ny\n"), out)
	c := hitl.New(hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
		asked = r
		return terminal.Confirm(ctx, r)
	}), hitl.Options{})(guarded(e))
	if _, err := c.CallTool(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	e.want(t, 1)
	if got := e.calls[0].Meta["claudecode/toolUseId"]; got != "toolu_01A" {
		t.Errorf("sent on: %v", got)
	}
	if got := string(asked.ClientIDs); got != `{"claudecode/toolUseId":"toolu_01A"}` {
		t.Errorf("got %s", got)
	}
	before, details, _ := strings.Cut(out.String(), "identifies it by")
	if strings.Contains(before, "toolu_01A") || !strings.Contains(details, "toolu_01A") {
		t.Errorf("it shows\n%s", out)
	}
	other := asked
	other.ClientIDs = nil
	if asked.Digest() != other.Digest() {
		t.Error("the digest of what is approved covers the identifiers")
	}
}

func TestPersonSeesTheWholeCall(t *testing.T) {
	t.Parallel()
	its := deletes(t)
	its.Arguments = json.RawMessage(`{"id":1,"it":2}`)
	var got hitl.Request
	c := hitl.New(hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) { got = r; return yes, nil }),
		hitl.Options{About: func(_ context.Context, call middleware.Call) (string, string) {
			return "why " + call.ID, "undo " + call.Tool.Name()
		}, Caller: func(_ context.Context, call middleware.Call) hitl.Caller {
			return hitl.Caller{User: call.Scope, Client: "desk"}
		}})(guarded(new(executor)))
	if _, err := c.CallTool(t.Context(), its); err != nil {
		t.Fatal(err)
	}
	if got.Tool != its.Tool || string(got.Arguments) != `{"id":1,"it":2}` || got.CallID != "call-1" || got.Scope != "ann" ||
		got.Caller.User != "ann" || got.Caller.Client != "desk" || got.Why != "why call-1" || got.Undo != "undo delete" || got.Deadline.IsZero() {
		t.Errorf("got %+v", got)
	}
}
