// Package answers lets others see and change the results of a server before the SDK does, on every transport.
package answers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Look is shown the result of one request and returns it as the SDK is to see it.
type Look func(result json.RawMessage) json.RawMessage

// A Picker returns what is to look at the result of a request, nil for nothing. The
// context is the one in which the request is sent.
type Picker func(ctx context.Context, method string) Look

// Transport returns a transport on which results are looked at. For streamable HTTP it is [RoundTripper] that
// does so: the SDK tells the connection of that transport things in ways that pass no wrapper.
func Transport(t mcp.Transport, pick Picker) mcp.Transport { return &transport{readable(t), pick} }

type transport struct {
	mcp.Transport

	pick Picker
}

func (t *transport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &connection{Connection: c, pick: t.pick, asked: make(map[any]question)}, nil
}

// connection recognizes results by the requests that went out through it.
type connection struct {
	mcp.Connection

	pick  Picker
	mu    sync.Mutex
	asked map[any]question // by the id of the request
}

type question struct {
	ctx  context.Context
	look Look
}

func (c *connection) Write(ctx context.Context, msg jsonrpc.Message) error {
	if r, ok := msg.(*jsonrpc.Request); ok && r.IsCall() {
		if look := c.pick(ctx, r.Method); look != nil {
			c.mu.Lock()
			maps.DeleteFunc(c.asked, func(_ any, q question) bool { return q.ctx.Err() != nil }) // no caller waits any more
			c.asked[r.ID.Raw()] = question{ctx, look}
			c.mu.Unlock()
		}
	}
	return c.Connection.Write(ctx, msg)
}

func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if r, ok := msg.(*jsonrpc.Response); ok && err == nil {
		c.mu.Lock()
		q, ok := c.asked[r.ID.Raw()]
		delete(c.asked, r.ID.Raw())
		c.mu.Unlock()
		if ok && r.Error == nil {
			r.Result = q.look(r.Result)
		}
	}
	return msg, err
}

// maxDepth is how deep a list of tools is read. The SDK refuses a message of more than 1,000 levels.
const maxDepth = 900

// Shallow returns an answer to tools/list with null for each value that is nested deeper than 900 levels, since
// the SDK fails a deeper message as a whole. Any other message is returned as it is.
func Shallow(message []byte) []byte {
	flat, deep := flatten(message)
	var answer struct {
		Result struct {
			Tools []json.RawMessage `json:"tools"`
		} `json:"result"`
	}
	if !deep || json.Unmarshal(flat, &answer) != nil || answer.Result.Tools == nil {
		return message
	}
	return flat
}

func flatten(text []byte) (flat []byte, deep bool) {
	depth, copied, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth == maxDepth+1 {
				flat, deep = append(append(flat, text[copied:i]...), "null"...), true
			}
		case c == '}' || c == ']':
			if depth--; depth == maxDepth {
				copied = i + 1
			}
		}
	}
	return append(flat, text[copied:]...), deep
}

// RoundTripper returns a round tripper under which results are looked at.
func RoundTripper(base http.RoundTripper, pick Picker) http.RoundTripper {
	return &roundTripper{base, pick}
}

type roundTripper struct {
	base http.RoundTripper
	pick Picker
}

func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	method := methodOf(req)
	var look Look
	if method != "" {
		look = t.pick(req.Context(), method)
	}
	res, err := t.base.RoundTrip(req)
	if err != nil || look == nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Encoding") != "" {
		return res, err
	}
	b := &body{Closer: res.Body, in: bufio.NewReader(res.Body), method: method, look: look}
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind {
	case "application/json":
		b.next = b.whole
	case "text/event-stream":
		b.next = b.event
	default:
		return res, nil
	}
	res.Body, res.ContentLength = b, -1
	res.Header.Del("Content-Length")
	return res, nil
}

func methodOf(req *http.Request) string {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return ""
	}
	sent, err := req.GetBody()
	if err != nil {
		return ""
	}
	defer sent.Close()
	var message struct {
		Method string `json:"method"`
	}
	if json.NewDecoder(sent).Decode(&message) != nil {
		return ""
	}
	return message.Method
}

// maxBody is how much of one answer is read. The SDK has no such limit.
const maxBody = 32 << 20

// body is the body of an answer on its way to the SDK, a message at a time.
type body struct {
	io.Closer

	in     *bufio.Reader
	method string
	look   Look
	next   func() ([]byte, error)
	out    []byte
	err    error
}

func (b *body) Read(p []byte) (int, error) {
	for len(b.out) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.out, b.err = b.next()
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

func (b *body) tooLong() error {
	return fmt.Errorf("mount: the answer to %s has more than %d bytes", b.method, maxBody)
}

func (b *body) whole() ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(b.in, maxBody+1))
	switch {
	case err != nil:
		return raw, err
	case len(raw) > maxBody:
		return nil, b.tooLong()
	}
	return b.message(raw), io.EOF
}

// line reads a line, or at least maxBody bytes of one.
func (b *body) line() (line []byte, err error) {
	for {
		part, err := b.in.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) || len(line) > maxBody {
			return line, err
		}
	}
}

func (b *body) event() ([]byte, error) {
	var event, data, rest []byte
	for {
		line, err := b.line()
		if event = append(event, line...); len(event) > maxBody {
			return nil, b.tooLong()
		}
		whole := bytes.TrimRight(line, "\r\n")
		if value, ok := bytes.CutPrefix(whole, []byte("data:")); ok {
			data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
		} else {
			rest = append(rest, line...)
		}
		if len(whole) > 0 && err == nil {
			continue
		}
		if changed := b.message(data); err == nil && !bytes.Equal(changed, data) {
			event = append(append(append([]byte("data: "), changed...), '\n'), rest...)
		}
		return event, err
	}
}

// message shows a message if it is a result, and returns it as the SDK is to see it.
func (b *body) message(raw []byte) []byte {
	raw = Shallow(raw)
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m["result"] == nil {
		return raw
	}
	result := b.look(m["result"])
	if bytes.Equal(result, m["result"]) {
		return raw
	}
	m["result"] = result
	return []byte(jsontree.Encode(m))
}

// readable returns the transport with [Shallow] before each message that the SDK reads from a pipe or process.
func readable(t mcp.Transport) mcp.Transport {
	switch t := t.(type) {
	case *mcp.IOTransport:
		prepared := *t
		prepared.Reader = lines(t.Reader, t.Reader)
		return &prepared
	case *mcp.CommandTransport:
		return (*command)(t)
	}
	return t
}

func lines(r io.Reader, c io.Closer) io.ReadCloser {
	b := &body{Closer: c, in: bufio.NewReader(r)}
	b.next = func() ([]byte, error) {
		line, err := b.line()
		if errors.Is(err, bufio.ErrBufferFull) { // the SDK refuses it
			return line, nil
		}
		return Shallow(line), err
	}
	return b
}

// command is a CommandTransport whose output can be read before the SDK does.
type command mcp.CommandTransport

func (t *command) Connect(ctx context.Context) (mcp.Connection, error) {
	stdout, err := t.Command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stdin, err := t.Command.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := t.Command.Start(); err != nil {
		return nil, err
	}
	patience := t.TerminateDuration
	if patience <= 0 {
		patience = 5 * time.Second // as the SDK has it
	}
	// The process ends by the end of its input, so its output stays open until then.
	return (&mcp.IOTransport{
		Reader: lines(stdout, io.NopCloser(nil)), Writer: &process{stdin, t.Command, patience},
	}).Connect(ctx)
}

// A process is the input of a command. Close ends the command: by the end of its input, SIGTERM, then SIGKILL.
type process struct {
	io.WriteCloser

	command  *exec.Cmd
	patience time.Duration // before each signal
}

func (p *process) Close() error {
	if err := p.WriteCloser.Close(); err != nil {
		return err
	}
	over := make(chan error, 1)
	go func() { over <- p.command.Wait() }()
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Kill, nil} {
		select {
		case err := <-over:
			return err
		case <-time.After(p.patience):
			if signal != nil && p.command.Process.Signal(signal) != nil { // there is no SIGTERM on Windows
				_ = p.command.Process.Kill()
			}
		}
	}
	return errors.New("mount: the process of the server does not end")
}
