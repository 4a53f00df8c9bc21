package proxy_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
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
	frame  func(id, result string) string     // returns the whole response; nil for the usual one

	answered func(line string) // gets each response of the client; nil for none
}

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
	if m.Method == "" {
		if s.answered != nil {
			s.answered(string(line))
		}
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
	switch {
	case m.ID == nil || string(m.ID) == "null":
	case s.frame != nil && m.Method != "initialize":
		_, _ = io.WriteString(out, s.frame(string(m.ID), result)+"\n")
	default:
		_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

// answers changes what answer is.
func (s *plain) answers(answer func(method, params string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// tell sends a line to every client.
func (s *plain) tell(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_, _ = io.WriteString(c, line+"\n")
	}
}

// redefine changes the tools and notifies every client.
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
			var m struct {
				ID     json.RawMessage
				Method string
			}
			switch _ = json.Unmarshal(out.Bytes(), &m); {
			case m.ID != nil && m.Method != "" && c.reply != "":
				c.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + c.reply + `}`)
			case m.ID != nil:
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

func (s *plain) proxy(t *testing.T, o proxy.Options) *proxy.Proxy {
	t.Helper()
	o.Servers = []proxy.Server{{Name: "plain", Open: s.open}}
	p, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const (
	deleteThing = `{"name":"delete_thing","description":"Deletes a thing.","inputSchema":{"type":"object"}}`
	readThing   = `{"name":"read_thing","description":"Reads a thing.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	writeThing  = `{"name":"add_thing","description":"Adds a thing.","inputSchema":{"type":"object"}}`
)

func newPlain(tools ...string) *plain { return &plain{tools: strings.Join(tools, ",")} }

// A lineClient writes lines to a proxy and reads its answers.
type lineClient struct {
	t     *testing.T
	in    io.Writer
	reply string // to requests of a server; "" for none

	mu      sync.Mutex
	answers map[string]chan string
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

// call calls a tool with params as they are written.
func (c *lineClient) call(params string) string {
	id := fmt.Sprint(lastID.Add(1))
	return c.ask(`{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":`+params+`}`, id)
}

// do makes a request of a client that takes tasks.
func (c *lineClient) do(method, params string) (got shownTask) {
	id := fmt.Sprint(lastID.Add(1))
	text := c.ask(`{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":{`+params+`,`+taskMeta+`}}`, id)
	var answer struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		c.t.Error(err)
	}
	if answer.Error != nil {
		_ = json.Unmarshal(answer.Error, &got.Error)
	} else if err := json.Unmarshal(answer.Result, &got); err != nil {
		c.t.Errorf("%v: %s", err, text)
	}
	return got
}

func (c *lineClient) about(verb string, task shownTask) shownTask {
	return c.do("tasks/"+verb, fmt.Sprintf(`"taskId":%q`, task.TaskID))
}

var lastID atomic.Int64

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

// inputs returns what the records have of input to calls.
func (b *book) inputs() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all strings.Builder
	for _, r := range b.all {
		all.Write(r.Input)
	}
	return all.String()
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
