package proxy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A forwarding is a proxy between a client and a server that speak by bytes.
type forwarding struct {
	book

	in    io.Writer
	out   *bufio.Reader
	calls int

	heard   sync.Mutex
	reached []string       // the lines of the server, but for those of the session and of the list
	shown   []hitl.Request // to the person, who approves
}

const forwardedTools = `{"tools":[
	{"name":"delete_thing","description":"Deletes a thing.","inputSchema":{"type":"object"},"_meta":{"` + annotation.MetaKey + `":{"auditRequired":true}}},
	{"name":"read_thing","description":"Reads a thing.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"` + annotation.MetaKey + `":{"auditRequired":true}}}]}`

func newForwarding(t testing.TB) *forwarding {
	t.Helper()
	f := new(forwarding)
	p, err := proxy.New(proxy.Options{
		Servers: []proxy.Server{{Name: "bytes", Open: f.open}}, Audit: f, Policy: decided(t, `{}`),
		Confirm: hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
			f.heard.Lock()
			defer f.heard.Unlock()
			f.shown = append(f.shown, r)
			return hitl.Decision{Verdict: hitl.Approved, By: "test"}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	in, toProxy := io.Pipe()
	fromProxy, out := io.Pipe()
	f.in, f.out = toProxy, bufio.NewReader(fromProxy)
	ended := make(chan error, 1)
	go func() { ended <- p.ServeLines(context.Background(), in, out) }()
	t.Cleanup(func() {
		_ = toProxy.Close()
		<-ended
	})
	f.ask(t, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	return f
}

// open starts the server.
func (f *forwarding) open() (io.ReadWriteCloser, error) {
	here, there := net.Pipe()
	go func() {
		for in := bufio.NewReader(there); ; {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			var m struct {
				ID     json.RawMessage
				Method string
			}
			if err := json.Unmarshal(line, &m); err != nil {
				panic(err)
			}
			result := `{"content":[]}`
			switch m.Method {
			case "initialize":
				result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bytes","version":"1"}}`
			case "tools/list":
				result = strings.ReplaceAll(forwardedTools, "\n", "")
			default:
				f.heard.Lock()
				f.reached = append(f.reached, string(line))
				f.heard.Unlock()
			}
			_, _ = fmt.Fprintf(there, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		}
	}()
	return here, nil
}

// ask makes a request of the proxy and returns the line of the response.
func (f *forwarding) ask(t testing.TB, method, params string) string {
	t.Helper()
	f.calls++
	if _, err := fmt.Fprintf(f.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", f.calls, method, params); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := f.out.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var m struct{ ID int }
		if json.Unmarshal(line, &m) == nil && m.ID == f.calls {
			return string(line)
		}
	}
}

// call makes a call, checks each promise about it, and reports whether it was sent.
func (f *forwarding) call(t testing.TB, params string) bool {
	t.Helper()
	f.heard.Lock()
	f.reached, f.shown = nil, nil
	f.heard.Unlock()
	f.mu.Lock()
	f.all = nil
	f.mu.Unlock()
	params = strings.Map(func(r rune) rune { // between two tokens, as the text is valid
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, params)
	asked, err := tree([]byte(params))
	if err != nil {
		t.Skip(err)
	}
	want, clear := agreed(asked)
	answer := f.ask(t, "tools/call", params)
	f.heard.Lock()
	defer f.heard.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	ends := slices.DeleteFunc(slices.Clone(f.all), func(r audit.Record) bool { return r.Kind != audit.End })
	if len(ends) != 1 {
		t.Errorf("%s: %d ends are recorded, want one", params, len(ends))
		return false
	}
	if len(f.reached) == 0 {
		if ends[0].Outcome == audit.OK || strings.Contains(answer, `"content":[]`) {
			t.Errorf("%s: recorded is %s and answered %s, but nothing was sent", params, ends[0].Outcome, answer)
		}
		return false
	}
	if !clear || len(f.reached) > 1 {
		t.Errorf("%s: servers would read it differently, or it was sent twice: %q", params, f.reached)
		return false
	}
	if strings.Contains(f.reached[0], `\u003c`) && !strings.Contains(params, `\u003c`) {
		t.Errorf("%s: escapes were added: %s", params, f.reached[0])
	}
	got, ok := received(f.reached[0])
	if !ok {
		t.Errorf("%s: servers would read differently what reached them: %s", params, f.reached[0])
	}
	if got != want {
		t.Errorf("%s: executed is %+v, want %+v", params, got, want)
	}
	f.approved(t, params, got)
	f.recorded(t, params, got, ends[0])
	return true
}

// received returns what all servers make of a line.
func received(line string) (got execution, ok bool) {
	message, err := tree([]byte(line))
	if err != nil {
		return got, false
	}
	envelope, _ := message.(object)
	first := true
	for _, l := range lookups {
		method, _ := l(envelope, "method")
		params, _ := l(envelope, "params")
		e, one := agreed(params)
		if method != "tools/call" || !one || !first && e != got {
			return e, false
		}
		got, first = e, false
	}
	return got, true
}

// approved checks that a person has approved exactly this, unless it is a read.
func (f *forwarding) approved(t testing.TB, params string, got execution) {
	t.Helper()
	if got.name == "read_thing" {
		return
	}
	if len(f.shown) != 1 {
		t.Errorf("%s: %d questions were put, want one", params, len(f.shown))
		return
	}
	shown := f.shown[0]
	extra := "{}"
	if shown.Extra != nil {
		extra = string(shown.Extra)
	}
	form, err := tree([]byte(`{"name":` + written(shown.Tool.Name()) + `,"arguments":` + orNull(shown.Arguments) + `,"extra":` + extra + `}`))
	if err != nil {
		t.Errorf("%s: what was shown cannot be read: %v", params, err)
		return
	}
	e, _ := agreed(form)
	beside, _ := pick(form.(object), func(name string) bool { return name == "extra" })
	sent, _ := lookups["the last of its exact name"].plainly(beside).(map[string]any)
	if more, ok := sent["params"].(map[string]any); ok { // the members that have no field
		delete(sent, "params")
		maps.Copy(sent, more)
	}
	e.extra = written(sent)
	if e != got {
		t.Errorf("%s: approved is %+v, executed %+v", params, e, got)
	}
}

func orNull(text json.RawMessage) string {
	if len(text) == 0 {
		return "null"
	}
	return string(text)
}

// recorded checks that the record is that of what was executed.
func (f *forwarding) recorded(t testing.TB, params string, got execution, end audit.Record) {
	t.Helper()
	class := map[string]string{"read_thing": "safe", "delete_thing": "dangerous"}[got.name]
	if end.Tool != got.name || end.Outcome != audit.OK || end.Class != class {
		t.Errorf("%s: recorded is %s %s of class %q, want %s of class %q", params, end.Tool, end.Outcome, end.Class, got.name, class)
	}
	schema := map[string]any{"type": "object"}
	tool := &middleware.Tool{Server: "bytes", Definition: &mcp.Tool{Name: got.name, InputSchema: schema}}
	sent := json.RawMessage(got.arguments)
	want := redact.Of(middleware.Call{Tool: tool, Arguments: sent}).JSON(sent, schema)
	for _, r := range f.all {
		if r.Arguments != nil && !same(r.Arguments, want) {
			t.Errorf("%s: recorded are the arguments %s, want %s", params, r.Arguments, want)
		}
	}
}

// same reports whether two texts are the same value.
func same(a, b json.RawMessage) bool {
	var x, y any
	x, err := tree(a)
	if err != nil {
		return false
	}
	if y, err = tree(b); err != nil {
		return false
	}
	exact := lookups["the first of its exact name"]
	return written(exact.plainly(x)) == written(exact.plainly(y))
}

// forwarded are params that are sent on, and ambiguous ones that are not.
var (
	forwarded = []string{
		`{"name":"read_thing"}`,
		`{"name":"read_thing","arguments":{}}`,
		`{"name":"delete_thing","arguments":{"path":"/srv/old.log"}}`,
		` { "arguments" : { "path" : "/srv/old.log" , "deep" : [ { "a" : 1.0 } , { "a" : 1e2 } ] } , "name" : "delete_thing" } `,
		`{"name":"delete_thing","arguments":{"n":12345678901234567890,"html":"<b>&","u":"\u00e9 \ud83d\ude00"}}`,
		`{"n\u0061me":"delete_thing","arguments":{"p\u0061th":"a"}}`,
		`{"name":"delete_thing","arguments":{},"_meta":{"tenant":"a","progressToken":1}}`,
		`{"name":"delete_thing","arguments":{"a":{"path":1},"b":{"path":2}}}`,
		`{"name":"delete_thing","arguments":{"path":"a"},"task":{"ttl":1}}`,
		`{"name":"delete_thing","task":{"ttl":9007199254740993,"html":"<"},"_meta":{"tenant":9007199254740993,"html":"<"}}`,
		`{"name":"read_thing","_meta":{"tenant":9007199254740993,"ratio":1.0},"next":null}`,
		`{"name":"delete_thing","inputResponses":{"a":{"action":"accept","content":{"n":9007199254740993},"new":1},"b":{"roots":[],"new":"<"}}}`,
		`{"name":"delete_thing","arguments":{"path":"a"},"requestState":"s"}`,
	}
	ambiguous = []string{
		`{"argumentſ":{"path":"/etc"},"name":"delete_thing","arguments":{"path":"/srv/old.log"}}`,
		`{"name":"delete_thing","arguments":{"path":"/srv/old.log"},"argumentſ":{"path":"/etc"}}`,
		`{"Name":"delete_thing","name":"read_thing"}`,
		`{"name":"read_thing","NAME":"delete_thing"}`,
		`{"name":"read_thing","name":"delete_thing"}`,
		`{"name":"delete_thing","name":"read_thing"}`,
		`{"name":"read_thing","n\u0061me":"delete_thing"}`,
		`{"NAME":"delete_thing"}`,
		`{"name":"delete_thing","Arguments":{"path":"a"}}`,
		`{"name":"delete_thing","arguments":{"path":"a"},"arguments":{"path":"b"}}`,
		`{"name":"delete_thing","arguments":{"path":"a","path":"b"}}`,
		`{"name":"delete_thing","arguments":{"path":"a","Path":"b"}}`,
		`{"name":"delete_thing","arguments":{"kind":"a","\u212aind":"b"}}`,
		`{"name":"delete_thing","arguments":{"deep":[{"path":"a","path":"b"}]}}`,
		`{"name":"delete_thing","_meta":{"tenant":"a"},"_META":{"tenant":"b"}}`,
		`{"name":"delete_thing","_meta":{"tenant":"a","Tenant":"b"}}`,
		`{"name":"delete_thing","requestState":"a","requeſtState":"b"}`,
		`{"name":"delete_thing","task":{"ttl":1},"Task":{"ttl":2}}`,
	}
	noCalls = []string{`{}`, `[]`, `null`, `1`, `"delete_thing"`, `{"name":null}`, `{"name":""}`, `{"name":["delete_thing"]}`, `{"name":"no_such_thing"}`,
		`{"name":"delete_thing","arguments":[1]}`, `{"name":"delete_thing","arguments":"{}"}`, `{"name":"delete_thing\u0000"}`}
)

// What every server makes of the bytes that reach it is what was asked for, classified,
// shown, approved and recorded; what two servers would read differently is refused.
func TestForwarding(t *testing.T) {
	t.Parallel()
	f := newForwarding(t)
	for _, params := range forwarded {
		if !f.call(t, params) {
			t.Errorf("%s was not sent", params)
		}
	}
	for _, params := range slices.Concat(ambiguous, noCalls) {
		if f.call(t, params) {
			t.Errorf("%s was sent", params)
		}
	}
}

func FuzzForwarding(f *testing.F) {
	for _, params := range slices.Concat(forwarded, ambiguous, noCalls) {
		f.Add(params)
	}
	through := newForwarding(f)
	f.Fuzz(func(t *testing.T, params string) {
		if !json.Valid([]byte(params)) {
			t.Skip("it is not JSON")
		}
		through.call(t, params)
	})
}
