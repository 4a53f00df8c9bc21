package mount_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// wholeWith is every link of the chain in front of a session. It does not wait, and
// an attempt has the time given.
func wholeWith(cs *mcp.ClientSession, says hitl.Confirmer, perAttempt time.Duration) middleware.ToolCaller {
	return chain.Standard{
		Infer:     infer.New(infer.Options{}),
		Confirm:   hitl.New(says, hitl.Options{}),
		Cache:     cache.New(cache.Options{}),
		Retry:     retry.New(retry.Options{Rand: func() float64 { return 0 }}),
		RateLimit: ratelimit.New(ratelimit.Options{PerMinute: 6e6, Burst: 1000}),
		Timeout:   timeout.New(timeout.Options{Default: perAttempt}),
	}.Then(mount.Session(cs))
}

// end is what a caller sees of a call, in words.
func end(res *mcp.CallToolResult, err error) string {
	unknown, isUnknown := errors.AsType[*middleware.OutcomeUnknownError](err)
	switch {
	case err == nil && res.IsError:
		return "the tool failed"
	case err == nil:
		return "answered"
	case isUnknown && strings.Contains(unknown.Check, "First check"):
		return "unknown"
	case middleware.NotSent(err):
		return "not sent"
	case middleware.Refused(err):
		return "refused"
	case middleware.Permanent(err) && !errors.Is(err, retry.ErrExhausted):
		return "final"
	}
	return "failed"
}

// A trial is one misbehaviour of a server, and the outcome that must follow. Executed is how often
// the server got the call, whole.
type trial struct {
	name         string
	write        string // the end of a dangerous call that a person allowed
	executed     int
	read         string // the end of a read
	readExecuted int
	dead         bool // the session afterwards
}

// run makes a dangerous call, which a person allows, and a read, each over a
// session of its own.
func (c trial) run(t *testing.T, within func(func(*testing.T)) func(*testing.T), connect func(t *testing.T) (caller middleware.ToolCaller, executed func() int)) {
	t.Helper()
	for _, side := range []struct {
		name, tool, want string
		executed         int
	}{
		{"a dangerous call", "delete_file", c.write, c.executed},
		{"a read", "list_notes", c.read, c.readExecuted},
	} {
		t.Run(side.name, within(func(t *testing.T) {
			caller, executed := connect(t)
			call := middleware.Call{ID: "1", Scope: "ann", Tool: unclassed(t, "srv", side.tool), Arguments: json.RawMessage(`{"path":"a"}`)}
			res, err := caller.CallTool(mcptest.Context(t), call)
			if got := end(res, err); got != side.want {
				t.Errorf("it ended as %q, want %q: %v", got, side.want, err)
			}
			if got := executed(); got != side.executed {
				t.Errorf("the server executed it %d times, want %d", got, side.executed)
			}
			before := executed()
			_, err = caller.CallTool(mcptest.Context(t), middleware.Call{ // of another tool: a pause is that of one
				ID: "2", Scope: "ann", Tool: unclassed(t, "srv", "list_tags"), Arguments: json.RawMessage(`{"path":"b"}`),
			})
			alive := err == nil && executed() == before+1
			if !alive && executed() != before {
				t.Errorf("the next call reached the server and ended as %v", err)
			}
			if alive == c.dead {
				t.Errorf("the session is dead afterwards: %t, want %t: %v", !alive, c.dead, err)
			}
		}))
	}
}

// bubble runs a test in virtual time.
func bubble(test func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

const fine = `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`

// nested is an array in an array and so on.
func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// A process that misbehaves at the other end of a pipe.
func TestHostilePipe(t *testing.T) {
	type peer = mcptest.Peer
	type request = mcptest.Request
	for _, c := range []struct {
		trial
		spoil func(p *peer, r request)
	}{
		{trial{"B123 hangs up after executing", "unknown", 1, "failed", 1, true}, func(p *peer, _ request) { p.Hangup() }},
		{trial{"B123 hangs up in the middle of the answer", "unknown", 1, "failed", 1, true},
			func(p *peer, r request) { p.Cut(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"resu`, r.ID)) }},
		{trial{"B129 never answers", "unknown", 1, "answered", 2, false}, func(*peer, request) {}},
		{trial{"answers another id", "unknown", 1, "answered", 2, false}, func(p *peer, r request) {
			p.Write(`{"jsonrpc":"2.0","id":987654,"result":` + fine + `}`)
		}},
		{trial{"answers the id as a text", "unknown", 1, "answered", 2, false}, func(p *peer, r request) {
			p.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s","result":%s}`, r.ID, fine))
		}},
		{trial{"answers twice", "answered", 1, "answered", 1, false}, func(p *peer, r request) { p.Reply(r, fine); p.Reply(r, `{}`) }},
		{trial{"answers with result and error", "unknown", 1, "answered", 2, false}, func(p *peer, r request) {
			p.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s,"error":{"code":-1,"message":"x"}}`, r.ID, fine))
		}},
		{trial{"answers null", "answered", 1, "answered", 1, false}, func(p *peer, r request) { p.Reply(r, `null`) }},
		{trial{"answers a list", "unknown", 1, "answered", 2, false}, func(p *peer, r request) { p.Reply(r, `[]`) }},
		{trial{"answers content of no known kind", "unknown", 1, "answered", 2, false}, func(p *peer, r request) {
			p.Reply(r, `{"content":[{"type":"hologram"}]}`)
		}},
		{trial{"B107 answers isError", "the tool failed", 1, "the tool failed", 1, false}, func(p *peer, r request) {
			p.Reply(r, `{"resultType":"complete","isError":true,"content":[{"type":"text","text":"no"}]}`)
		}},
		{trial{"B131 invalid params", "final", 1, "final", 1, false}, func(p *peer, r request) { p.Fail(r, `{"code":-32602,"message":"x"}`) }},
		{trial{"an internal error", "unknown", 1, "answered", 2, false}, func(p *peer, r request) { p.Fail(r, `{"code":-32603,"message":"x"}`) }},
		{trial{"an error of 256 KB", "unknown", 1, "answered", 2, false}, func(p *peer, r request) {
			p.Fail(r, fmt.Sprintf(`{"code":-32603,"message":%q}`, strings.Repeat("x", 256<<10)))
		}},
		{trial{"a limit", "answered", 2, "answered", 2, false}, func(p *peer, r request) { p.Fail(r, `{"code":-32023,"message":"x"}`) }},
		{trial{"B133 a limit for a day", "refused", 1, "refused", 1, false}, func(p *peer, r request) {
			p.Fail(r, `{"code":-32023,"message":"x","data":{"retryAfter":86400}}`)
		}},
		{trial{"the client's own words", "unknown", 1, "answered", 2, false}, func(p *peer, r request) {
			p.Fail(r, `{"code":-32003,"message":"client is closing down"}`)
		}},
		{trial{"rubbish", "unknown", 1, "failed", 1, true}, func(p *peer, _ request) { p.Write(`<html>`) }},
		{trial{"an empty object", "unknown", 1, "failed", 1, true}, func(p *peer, _ request) { p.Write(`{}`) }},
		{trial{"B109 a result of more than the SDK takes", "unknown", 1, "failed", 1, true}, func(p *peer, r request) {
			p.Reply(r, `{"resultType":"complete","content":[{"type":"text","text":"`+strings.Repeat("x", 16<<20)+`"}]}`)
		}},
		{trial{"B121 a value nested 9,000 deep", "unknown", 1, "failed", 1, true}, func(p *peer, r request) {
			p.Reply(r, `{"resultType":"complete","content":[],"structuredContent":{"a":`+nested(9000)+`}}`)
		}},
		{trial{"B121 a value nested 100,000 deep", "unknown", 1, "failed", 1, true}, func(p *peer, r request) {
			p.Reply(r, `{"resultType":"complete","content":[],"structuredContent":{"a":`+nested(100_000)+`}}`)
		}},
		{trial{"an unknown request, and then the answer", "answered", 1, "answered", 1, false}, func(p *peer, r request) {
			p.Write(`{"jsonrpc":"2.0","id":77,"method":"nuclear/launch","params":{}}`)
			p.Reply(r, fine)
		}},
		{trial{"a hundred notices, and then the answer", "answered", 1, "answered", 1, false}, func(p *peer, r request) {
			for range 100 {
				p.Write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
			}
			p.Reply(r, fine)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, version string) {
				c.run(t, bubble, func(t *testing.T) (middleware.ToolCaller, func() int) {
					return pipe(t, version, c.spoil)
				})
			})
		})
	}
}

// pipe connects a whole chain to a peer that spoils its first answer to a call.
func pipe(t *testing.T, version string, spoil func(p *mcptest.Peer, r mcptest.Request)) (middleware.ToolCaller, func() int) {
	t.Helper()
	var executed atomic.Int32
	cs := mcptest.ConnectPeer(t, nil, version, func(p *mcptest.Peer, r mcptest.Request) {
		switch {
		case r.Method != "tools/call":
			p.Fail(r, `{"code":-32601,"message":"x"}`)
		case executed.Add(1) == 1:
			spoil(p, r)
		default:
			p.Reply(r, fine)
		}
	})
	return wholeWith(cs, &person{says: hitl.Approved}, time.Minute/4), func() int { return int(executed.Load()) }
}
