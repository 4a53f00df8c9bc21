package proxy_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
)

// A plain server reads JSON-RPC line by line and executes what looks like a call, with and
// without an id. It keeps the params that reached it.
type plain struct {
	mu       sync.Mutex
	tools    string
	executed []string
	conns    []io.Writer
	held     string        // what a request that is held contains, additions by default
	hold     chan struct{} // such requests are answered when it is closed; nil for at once

	answer func(method, params string) string // returns the result, "" for the usual one; nil for that
}

const (
	deleteThing = `{"name":"delete_thing","description":"Deletes a thing.","inputSchema":{"type":"object"}}`
	readThing   = `{"name":"read_thing","description":"Reads a thing.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	writeThing  = `{"name":"add_thing","description":"Adds a thing.","inputSchema":{"type":"object"}}`
)

func newPlain(tools ...string) *plain { return &plain{tools: strings.Join(tools, ",")} }

func (s *plain) open() (io.ReadWriteCloser, error) {
	here, there := net.Pipe()
	s.mu.Lock()
	s.conns = append(s.conns, there)
	s.mu.Unlock()
	go func() {
		in := bufio.NewScanner(there)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			s.serve(there, in.Bytes())
		}
	}()
	return here, nil
}

func (s *plain) serve(out io.Writer, line []byte) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	result := `{}`
	s.mu.Lock()
	switch strings.ToLower(m.Method) {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"plain","version":"1"}}`
	case "tools/list":
		result = `{"tools":[` + s.tools + `]}`
	case "tools/call":
		s.executed = append(s.executed, string(m.Params))
		result = fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, len(s.executed))
	}
	if s.answer != nil {
		result = cmp.Or(s.answer(m.Method, string(m.Params)), result)
	}
	s.mu.Unlock()
	if s.hold != nil && strings.Contains(string(line), cmp.Or(s.held, "add_thing")) {
		<-s.hold
	}
	if m.ID != nil && string(m.ID) != "null" {
		_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

// redefine changes the tools and tells every client so.
func (s *plain) redefine(tools ...string) {
	s.mu.Lock()
	s.tools = strings.Join(tools, ",")
	conns := slices.Clone(s.conns)
	s.mu.Unlock()
	for _, c := range conns {
		_, _ = io.WriteString(c, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n")
	}
}

func (s *plain) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.executed)
}

// A lineClient writes lines to a proxy and reads its answers.
type lineClient struct {
	t  *testing.T
	in io.Writer

	mu      sync.Mutex
	answers map[string]chan string
}

func (s *plain) client(t *testing.T, p *proxy.Proxy) *lineClient {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	c := &lineClient{t: t, in: inWrite, answers: make(map[string]chan string)}
	ended := make(chan error, 1)
	go func() { ended <- p.ServeLines(t.Context(), inRead, outWrite) }()
	go func() {
		out := bufio.NewScanner(outRead)
		out.Buffer(nil, 1<<20)
		for out.Scan() {
			var m struct{ ID json.RawMessage }
			if json.Unmarshal(out.Bytes(), &m) == nil && m.ID != nil {
				c.answer(string(m.ID)) <- out.Text()
			}
		}
	}()
	t.Cleanup(func() {
		_ = inWrite.Close()
		<-ended
		_ = outWrite.Close()
	})
	c.ask(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, `"hello"`)
	return c
}

func (c *lineClient) answer(id string) chan string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers[id] == nil {
		c.answers[id] = make(chan string, 10)
	}
	return c.answers[id]
}

func (c *lineClient) send(line string) {
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Error(err)
	}
}

func (c *lineClient) ask(line, id string) string {
	c.send(line)
	select {
	case got := <-c.answer(id):
		return got
	case <-time.After(time.Minute):
		c.t.Errorf("no answer to %s", line)
		return ""
	}
}

var lastID atomic.Int64

// call calls a tool with params as they are written.
func (c *lineClient) call(params string) string {
	id := fmt.Sprint(lastID.Add(1))
	return c.ask(`{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":`+params+`}`, id)
}

// A book keeps what is recorded.
type book struct {
	mu  sync.Mutex
	all []audit.Record
}

func (b *book) Write(_ context.Context, r audit.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, r)
	return nil
}

func (b *book) ends() (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.all {
		if r.Kind == audit.End {
			all = append(all, fmt.Sprintf("%s %s %v", r.Tool, r.Outcome, r.Decisions))
		}
	}
	return all
}

func (s *plain) proxy(t *testing.T, o proxy.Options) *proxy.Proxy {
	t.Helper()
	o.Servers = []proxy.Server{{Name: "plain", Open: s.open}}
	p, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCallWithoutAnIDReachesNoServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, b := newPlain(deleteThing), new(book)
		c := s.client(t, s.proxy(t, proxy.Options{ReadOnly: true, Audit: b}))
		c.send(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"delete_thing"}}`)
		c.send(`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"delete_thing"}}`)
		c.send(`[{"jsonrpc":"2.0","method":"tools/call","params":{"name":"delete_thing"}}]`)
		if got := c.ask(`{"jsonrpc":"2.0","id":7,"method":"TOOLS/CALL","params":{"name":"delete_thing"}}`, "7"); !strings.Contains(got, `"error"`) {
			t.Errorf("got %s", got)
		}
		synctest.Wait()
		if got := s.calls(); len(got) > 0 {
			t.Errorf("the server executed %q", got)
		}
		if got := b.ends(); len(got) != 4 {
			t.Errorf("%d records, want 4: %q", len(got), got)
		}
	})
}

// Over HTTP the sender of a call without an id hears that it was refused.
func TestCallWithoutAnIDIsRefusedOverHTTP(t *testing.T) {
	t.Parallel()
	s := newPlain(deleteThing)
	r := &recorder{header: make(http.Header)}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"delete_thing","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	s.proxy(t, proxy.Options{Confirm: approve(true)}).Handler(t.Context()).ServeHTTP(r, req)
	if r.status != http.StatusBadRequest || len(s.calls()) > 0 {
		t.Errorf("status %d, executed %q", r.status, s.calls())
	}
}

type recorder struct {
	header http.Header
	status int
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return len(p), nil }

func TestAmbiguousParamsAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, b := newPlain(deleteThing, readThing), new(book)
		c := s.client(t, s.proxy(t, proxy.Options{Confirm: approve(true), Audit: b}))
		for _, params := range []string{
			`{"argumentſ":{"path":"/etc"},"name":"delete_thing","arguments":{"path":"/srv/old.log"}}`,
			`{"Name":"delete_thing","name":"read_thing"}`,
			`{"name":"read_thing","name":"delete_thing"}`,
			`{"name":"read_thing","n\u0061me":"delete_thing"}`,
			`{"NAME":"delete_thing"}`,
			`{"name":"read_thing","arguments":{"path":"a","PATH":"b"}}`,
			`{"name":"read_thing","_meta":{"tenant":"a","Tenant":"b"}}`,
			`{"name":"read_thing","task":{"ttl":1,"ttl":2}}`,
			`{"name":"read_thing","_META":{}}`,
		} {
			if got := c.call(params); !strings.Contains(got, `"error":{"code":-32602`) {
				t.Errorf("%s: got %s", params, got)
			}
		}
		if got := s.calls(); len(got) > 0 {
			t.Errorf("the server executed %q", got)
		}
		if got := c.call(`{"name":"read_thing","arguments":{"path":"a","other":"a"},"task":{"ttl":1},"_meta":{"tenant":"a"}}`); !strings.Contains(got, `"result"`) || len(s.calls()) != 1 {
			t.Errorf("got %s", got)
		}
		if got := b.ends(); len(got) != 10 {
			t.Errorf("%d records, want 10: %q", len(got), got)
		}
	})
}

// Whoever writes through the proxy ends what another client has read.
func TestWriteOfOneClientEndsWhatAnotherHasRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newPlain(readThing, writeThing)
		p := s.proxy(t, proxy.Options{Trust: true, Confirm: approve(true), Policy: decided(t, `{"cache": {"*": "1m"}}`)})
		a, b := s.client(t, p), s.client(t, p)
		first := a.call(`{"name":"read_thing"}`)
		if again := a.call(`{"name":"read_thing"}`); len(s.calls()) != 1 {
			t.Fatalf("a second read was not answered by the first: %s, %s", first, again)
		}
		b.call(`{"name":"add_thing"}`)
		if got := a.call(`{"name":"read_thing"}`); !strings.Contains(got, `"text":"3"`) {
			t.Errorf("after another client's write: %s", got)
		}
	})
}

// A change of the policy does not part a read from a write that is in flight.
func TestStoreOutlivesAChangeOfThePolicy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now atomic.Pointer[policy.Policy]
		now.Store(decided(t, `{"cache": {"*": "1m"}}`)())
		s := newPlain(readThing, writeThing)
		s.hold = make(chan struct{})
		p := s.proxy(t, proxy.Options{Trust: true, Confirm: approve(true), Policy: now.Load})
		a, b := s.client(t, p), s.client(t, p)
		written := make(chan string)
		go func() { written <- b.call(`{"name":"add_thing"}`) }()
		synctest.Wait()
		now.Store(decided(t, `{"cache": {"*": "1m"}}`)())
		early := a.call(`{"name":"read_thing"}`)
		close(s.hold)
		<-written
		if got := a.call(`{"name":"read_thing"}`); !strings.Contains(got, `"text":"3"`) {
			t.Errorf("after the write: %s, and before: %s", got, early)
		}
	})
}

// A tool that changes, or goes, while a person reads its question is not executed.
func TestChangeWhileAPersonReads(t *testing.T) {
	t.Parallel()
	for name, after := range map[string][]string{
		"redefined": {strings.Replace(deleteThing, "a thing", "everything", 1)},
		"removed":   {readThing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newPlain(deleteThing)
				confirm := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
					s.redefine(after...)
					synctest.Wait()
					return hitl.Decision{Verdict: hitl.Approved}, nil
				})
				c := s.client(t, s.proxy(t, proxy.Options{Confirm: confirm}))
				if got := c.call(`{"name":"delete_thing"}`); len(s.calls()) > 0 {
					t.Errorf("the server executed %q: %s", s.calls(), got)
				}
			})
		})
	}
}

// A list that was asked for before its server announced a change does not settle the change.
func TestListOlderThanAnAnnouncement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newPlain(readThing, writeThing)
		c := s.client(t, s.proxy(t, proxy.Options{Confirm: approve(true)}))
		c.call(`{"name":"add_thing"}`)
		s.held, s.hold = "tools/list", make(chan struct{})
		c.send(`{"jsonrpc":"2.0","id":"old","method":"tools/list"}`)
		synctest.Wait() // the server has put its answer together
		s.redefine(readThing)
		answer := make(chan string)
		go func() { answer <- c.call(`{"name":"add_thing"}`) }()
		synctest.Wait()
		close(s.hold)
		if got := <-answer; len(s.calls()) > 1 {
			t.Errorf("the server executed a tool that it had removed: %s", got)
		}
	})
}

// A policy that denies a tool while a person reads its question counts.
func TestPolicyThatChangesWhileAPersonReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		allow, err := policy.Parse("allow", []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		deny, err := policy.Parse("deny", []byte(`{"rules":[{"tool":"plain/delete_thing","decide":"deny"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		var now atomic.Pointer[policy.Policy]
		now.Store(allow)
		s, b := newPlain(deleteThing), new(book)
		confirm := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			now.Store(deny)
			return hitl.Decision{Verdict: hitl.Approved}, nil
		})
		c := s.client(t, s.proxy(t, proxy.Options{Confirm: confirm, Policy: now.Load, Audit: b}))
		if got := c.call(`{"name":"delete_thing"}`); len(s.calls()) > 0 {
			t.Errorf("the server executed %q: %s", s.calls(), got)
		}
	})
}

// Each refusal leaves a record that tells by what.
func TestRefusalsAreRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		deny, err := policy.Parse("p.json", []byte(`{"rules":[{"tool":"plain/read_thing","decide":"deny","reason":"not this one"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		s, b := newPlain(deleteThing, readThing), new(book)
		c := s.client(t, s.proxy(t, proxy.Options{ReadOnly: true, Audit: b, Policy: func() *policy.Policy { return deny }}))
		for _, name := range []string{"delete_thing", "read_thing", "no_such_thing"} {
			c.call(`{"name":"` + name + `"}`)
		}
		got := b.ends()
		for i, want := range []string{"delete_thing refused [{read-only refused", "read_thing refused [{p.json", "no_such_thing refused [{proxy refused"} {
			if i >= len(got) || !strings.HasPrefix(got[i], want) {
				t.Errorf("record %d of %q, want %q", i, got, want)
			}
		}
		if len(got) != 3 || len(s.calls()) > 0 {
			t.Errorf("%d records, executed %q", len(got), s.calls())
		}
	})
}

// A tool that changes is not executed either when the policy was replaced since its question was asked.
func TestChangeUnderAnEarlierPolicy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		earlier, later := new(policy.Policy), new(policy.Policy)
		var now atomic.Pointer[policy.Policy]
		now.Store(earlier)
		s := newPlain(deleteThing)
		var c *lineClient
		confirm := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			now.Store(later)
			c.send(`{"jsonrpc":"2.0","id":"later","method":"tools/list"}`)
			synctest.Wait()
			s.redefine(strings.Replace(deleteThing, "a thing", "everything", 1))
			synctest.Wait()
			return hitl.Decision{Verdict: hitl.Approved}, nil
		})
		c = s.client(t, s.proxy(t, proxy.Options{Confirm: confirm, Policy: now.Load}))
		if got := c.call(`{"name":"delete_thing"}`); len(s.calls()) > 0 {
			t.Errorf("the server executed %q: %s", s.calls(), got)
		}
	})
}
