package realservers_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

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
