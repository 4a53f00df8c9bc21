package realservers_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience bounds each wait for a process. It is long, because the machine may be busy.
const patience = time.Minute

// bin is the directory of the programs that the tests build.
var bin string

func TestMain(m *testing.M) {
	var err error
	if bin, err = os.MkdirTemp("", "realservers"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(bin)
	os.Exit(code)
}

var programs = map[string]func() (string, error){
	"fairlead": sync.OnceValues(func() (string, error) { return build("fairlead", "../../cmd/fairlead") }),
	"mcpgo":    sync.OnceValues(func() (string, error) { return build("mcpgo", "./mcpgo") }),
	"sdk":      sync.OnceValues(linked),
}

func build(name, dir string) (string, error) {
	path := filepath.Join(bin, name)
	if out, err := exec.Command("go", "build", "-C", dir, "-o", path, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build of %s: %w\n%s", dir, err, out)
	}
	return path, nil
}

// linked puts the server of the TypeScript SDK beside the packages that it imports.
func linked() (string, error) {
	source, err := os.ReadFile("testdata/sdk.mjs")
	if err != nil {
		return "", err
	}
	path := filepath.Join(bin, "sdk.mjs")
	return path, errors.Join(os.WriteFile(path, source, 0o600), os.Symlink(os.Getenv("FAIRLEAD_TS_SDK"), filepath.Join(bin, "node_modules")))
}

func program(t *testing.T, name string) string {
	t.Helper()
	path, err := programs[name]()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// installed returns the path of a program, and skips the test if it is not installed.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIPPED: there is no %s: a real server is not attacked; .ci/run --install installs it", name)
	}
	return path
}

// A realServer is a server that runs as a process of its own.
type realServer struct {
	name    string
	command func(t *testing.T) []string
}

var realServers = []realServer{
	{"mcp-go", func(t *testing.T) []string { return []string{program(t, "mcpgo")} }},
	{"TypeScript SDK", func(t *testing.T) []string {
		if _, err := os.Stat(filepath.Join(os.Getenv("FAIRLEAD_TS_SDK"), "@modelcontextprotocol/sdk")); err != nil {
			t.Skip("SKIPPED: FAIRLEAD_TS_SDK names no node_modules with @modelcontextprotocol/sdk: its server is not attacked; .ci/run race:verify installs it")
		}
		return []string{installed(t, "node"), program(t, "sdk")}
	}},
	{"plain", func(t *testing.T) []string { return []string{installed(t, "python3"), "testdata/plain.py"} }},
}

// eachServer runs a test against each server in a subtest, with an empty ledger.
func eachServer(t *testing.T, test func(t *testing.T, s realServer, command []string, l ledger)) {
	t.Helper()
	for _, s := range realServers {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			test(t, s, s.command(t), ledger(filepath.Join(t.TempDir(), "ledger")))
		})
	}
}

// A ledger is a server's record of its executions, a file.
type ledger string

func (l ledger) env() string { return "LEDGER=" + string(l) }

// executed returns what the server executed, without the reads that harm nothing.
func (l ledger) executed(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile(string(l))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var one struct {
			Tool      string
			Arguments struct{ Path string }
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(one.Tool, "get_") {
			all = append(all, strings.TrimSpace(one.Tool+" "+one.Arguments.Path))
		}
	}
	return all
}

// A message is one of JSON-RPC, as the client reads it.
type message struct {
	ID     any
	Method string
	Params struct{ Message string }
	Result json.RawMessage
	Error  json.RawMessage
}

// A client speaks to a process by the lines of the wire.
type client struct {
	t       *testing.T
	in      io.WriteCloser
	lines   chan message
	process *exec.Cmd
	stderr  *output
	ended   sync.Once
	// answer is called with each question, and answers it.
	answer func(m message)
	asked  []string // the texts of the questions
	count  int      // of IDs
}

// output is what a process has written, which can be read while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start starts a process that serves MCP on its standard input and output.
func start(t *testing.T, l ledger, command ...string) *client {
	t.Helper()
	c := &client{t: t, lines: make(chan message, 1000), stderr: new(output)}
	c.answer = func(m message) { c.reply(m, "allow") }
	c.process = exec.CommandContext(t.Context(), command[0], command[1:]...)
	c.process.Env = append(os.Environ(), l.env())
	c.process.Stderr = c.stderr
	var err error
	if c.in, err = c.process.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.lines)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			var m message
			if json.Unmarshal(line, &m) == nil {
				c.lines <- m
			}
		}
	}()
	t.Cleanup(c.close)
	c.send(hello)
	c.await("hello")
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18",
	"capabilities":{"elicitation":{}},"clientInfo":{"name":"attacker","version":"1"}}}`

// proxied starts the proxy with a server behind it.
func proxied(t *testing.T, l ledger, flags []string, server ...string) *client {
	t.Helper()
	return start(t, l, append(append([]string{program(t, "fairlead"), "proxy"}, flags...), server...)...)
}

// close ends the process and waits for it.
func (c *client) close() {
	c.ended.Do(func() {
		_ = c.in.Close()
		for range c.lines { // until it has closed its output
		}
		_ = c.process.Wait()
		if c.t.Failed() {
			c.t.Logf("%s wrote:\n%s", c.process.Args[0], c.stderr)
		}
	})
}

func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, strings.ReplaceAll(line, "\n", " ")+"\n"); err != nil {
		c.t.Fatalf("%v\n%s", err, c.stderr)
	}
}

// next returns the next message that is not a question; questions are answered.
func (c *client) next() message {
	c.t.Helper()
	for {
		select {
		case m, ok := <-c.lines:
			if !ok {
				c.t.Fatalf("%s has ended\n%s", c.process.Args[0], c.stderr)
			}
			if m.Method == "elicitation/create" {
				c.asked = append(c.asked, m.Params.Message)
				c.answer(m)
				continue
			}
			return m
		case <-time.After(patience):
			c.t.Fatalf("%s wrote nothing\n%s", c.process.Args[0], c.stderr)
		}
	}
}

// await returns the response to the request with this ID.
func (c *client) await(id string) message {
	c.t.Helper()
	for {
		if m := c.next(); m.Method == "" && m.ID == id {
			return m
		}
	}
}

func (c *client) reply(question message, decision string) {
	c.t.Helper()
	id, err := json.Marshal(question.ID)
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"decision":%q}}}`, id, decision))
}

// call sends a call under an ID of its own, which the line has as ID, and returns the ID.
func (c *client) call(line string) string {
	c.t.Helper()
	c.count++
	id := strconv.Itoa(c.count)
	c.send(strings.Replace(line, `"id":"ID"`, `"id":"`+id+`"`, 1))
	return id
}

// settle returns once the server has handled what was sent earlier. Its read is never the
// same, so that no cache answers it.
func (c *client) settle() {
	c.t.Helper()
	c.await(c.call(fmt.Sprintf(`{"jsonrpc":"2.0","id":"ID","method":"tools/call","params":{"name":"get_status","arguments":{"path":"%d"}}}`, c.count)))
}

// serving starts a process that serves HTTP and returns the URL that it prints.
func serving(t *testing.T, l ledger, url string, command ...string) string {
	t.Helper()
	process := exec.CommandContext(t.Context(), command[0], command[1:]...)
	process.Env = append(os.Environ(), l.env())
	r, w := io.Pipe()
	process.Stdout, process.Stderr = w, w
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = w.CloseWithError(process.Wait()) }()
	t.Cleanup(func() {
		_ = process.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, r)
	})
	found := make(chan string, 1)
	var text strings.Builder
	lines := bufio.NewReader(r)
	go func() {
		defer close(found)
		for {
			line, err := lines.ReadString('\n')
			text.WriteString(line)
			if m := regexp.MustCompile(url).FindStringSubmatch(line); m != nil {
				found <- m[1]
				go func() { _, _ = io.Copy(io.Discard, lines) }()
				return
			}
			if err != nil {
				return
			}
		}
	}()
	select {
	case at, ok := <-found:
		if !ok {
			t.Fatalf("%s printed no URL:\n%s", command[0], &text)
		}
		return at
	case <-time.After(patience):
		t.Fatalf("%s printed no URL in %v", command[0], patience)
		return ""
	}
}

// post sends one message to a proxy over HTTP and returns the response and its session.
func post(t *testing.T, url, session, body string) (text, of string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(got), res.Header.Get("Mcp-Session-Id")
}

// accept writes a lock file of the server's tools as they are now.
func accept(t *testing.T, lock string, command ...string) {
	t.Helper()
	args := append([]string{"lock", "accept", "--yes", "--lock", lock, "--"}, command...)
	if out, err := exec.CommandContext(t.Context(), program(t, "fairlead"), args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// A redirector is a gateway on the way to a server. It hands on each call of a dangerous
// tool, and then redirects the client to itself, on the same host.
type redirector struct {
	backend   *httputil.ReverseProxy
	delivered atomic.Int32
}

func (g *redirector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.URL.Path = "/mcp"
	if !bytes.Contains(body, []byte("delete_path")) {
		g.backend.ServeHTTP(w, r)
		return
	}
	g.backend.ServeHTTP(httptest.NewRecorder(), r)
	http.Redirect(w, r, fmt.Sprintf("/again/%d", g.delivered.Add(1)), http.StatusTemporaryRedirect)
}

// outcomes returns what came of each call in a record, by its tool.
func outcomes(t *testing.T, record string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var r struct{ Kind, Tool, Outcome string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Kind == "end" {
			all = append(all, r.Tool+" "+r.Outcome)
		}
	}
	return all
}
