package resolution

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// marked are the methods whose results say what a server resolves.
var marked = map[string]func(result map[string]json.RawMessage) bool{
	"initialize":      markCapabilities,
	"server/discover": markCapabilities,
	"tools/list":      markTools,
}

// Mark returns the result of initialize, server/discover or tools/list with what the
// SDK drops put where it does not. What is not as expected stays as it is.
func Mark(method string, raw json.RawMessage) json.RawMessage {
	var result map[string]json.RawMessage
	if json.Unmarshal(raw, &result) != nil || result == nil || marked[method] == nil || !marked[method](result) {
		return raw
	}
	out, err := json.Marshal(result)
	if err != nil {
		return raw
	}
	return out
}

func markCapabilities(result map[string]json.RawMessage) bool {
	caps := members(result["capabilities"])
	if caps == nil || !copyMarks(members(caps["tools"]), caps, "extensions") {
		return false
	}
	var err error
	result["capabilities"], err = json.Marshal(caps)
	return err == nil
}

func markTools(result map[string]json.RawMessage) bool {
	var tools []json.RawMessage
	if json.Unmarshal(result["tools"], &tools) != nil {
		return false
	}
	changed := false
	for i, raw := range tools {
		tool := members(raw)
		if tool == nil || !copyMarks(tool, tool, "_meta") {
			continue
		}
		if out, err := json.Marshal(tool); err == nil {
			tools[i], changed = out, true
		}
	}
	if !changed {
		return false
	}
	var err error
	result["tools"], err = json.Marshal(tools)
	return err == nil
}

// copyMarks writes the marks that are true to a member of into. It leaves a member
// alone that is no object.
func copyMarks(from, into map[string]json.RawMessage, member string) bool {
	marks := make(map[string]bool)
	for _, field := range []string{FieldResolve, FieldDynamic} {
		if string(from[field]) == "true" {
			marks[field] = true
		}
	}
	if len(marks) == 0 {
		return false
	}
	holder := members(into[member])
	if holder == nil {
		if _, there := into[member]; there && string(into[member]) != "null" {
			return false
		}
		holder = make(map[string]json.RawMessage)
	}
	var err error
	if holder[MetaKey], err = json.Marshal(marks); err != nil {
		return false
	}
	into[member], err = json.Marshal(holder)
	return err == nil
}

// members returns an object, nil for anything else.
func members(raw json.RawMessage) (o map[string]json.RawMessage) {
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// Transport returns a transport on which the results say, where the SDK's types keep
// it, what a server resolves.
func Transport(t mcp.Transport) mcp.Transport { return &markTransport{t} }

type markTransport struct{ mcp.Transport }

func (t *markTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &markConnection{Connection: c, asked: make(map[any]string)}, nil
}

// markConnection marks the results of the requests that went out through it.
type markConnection struct {
	mcp.Connection

	mu    sync.Mutex
	asked map[any]string // method by the id of the request
}

// maxAsked bounds what is kept of requests that nobody answers.
const maxAsked = 256

func (c *markConnection) Write(ctx context.Context, msg jsonrpc.Message) error {
	if r, ok := msg.(*jsonrpc.Request); ok && r.IsCall() && marked[r.Method] != nil {
		c.mu.Lock()
		if len(c.asked) >= maxAsked {
			clear(c.asked) // a mark that is missed leaves the static class
		}
		c.asked[r.ID.Raw()] = r.Method
		c.mu.Unlock()
	}
	return c.Connection.Write(ctx, msg)
}

func (c *markConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if r, ok := msg.(*jsonrpc.Response); ok && err == nil {
		c.mu.Lock()
		method, ok := c.asked[r.ID.Raw()]
		delete(c.asked, r.ID.Raw())
		c.mu.Unlock()
		if ok && r.Error == nil {
			r.Result = Mark(method, r.Result)
		}
	}
	return msg, err
}

// RoundTripper does over HTTP what [Transport] does.
func RoundTripper(base http.RoundTripper) http.RoundTripper { return markRoundTripper{base} }

type markRoundTripper struct{ base http.RoundTripper }

func (t markRoundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	method := methodOf(req)
	res, err := t.base.RoundTrip(req)
	if err != nil || marked[method] == nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Encoding") != "" {
		return res, err
	}
	body := &markBody{Closer: res.Body, in: bufio.NewReader(res.Body), method: method}
	switch kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) {
	case "application/json":
	case "text/event-stream":
		body.lines = true
	default:
		return res, nil
	}
	res.Body, res.ContentLength = body, -1
	res.Header.Del("Content-Length")
	return res, nil
}

// methodOf returns the method of a request's one message, "" where it cannot tell.
func methodOf(req *http.Request) string {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return ""
	}
	body, err := req.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close()
	var message struct {
		Method string `json:"method"`
	}
	if json.NewDecoder(body).Decode(&message) != nil {
		return ""
	}
	return message.Method
}

// maxMarked is how much of a body is looked at in one piece. A longer one passes as
// it is.
const maxMarked = 16 << 20

// markBody marks the results in a body: the whole of it, or, in a stream of events,
// each line of data.
type markBody struct {
	io.Closer

	in     *bufio.Reader
	method string
	lines  bool
	out    []byte
	err    error
	passed bool // the rest passes as it is
}

func (b *markBody) Read(p []byte) (int, error) {
	for len(b.out) == 0 {
		if b.passed {
			return b.in.Read(p)
		}
		if b.err != nil {
			return 0, b.err
		}
		b.out, b.err = b.next()
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

// next reads the next piece.
func (b *markBody) next() ([]byte, error) {
	if !b.lines {
		body, err := io.ReadAll(io.LimitReader(b.in, maxMarked))
		switch {
		case err != nil:
			return body, err
		case len(body) == maxMarked:
			b.passed = true
			return body, nil
		}
		return b.message(body), io.EOF
	}
	var line []byte
	for {
		part, err := b.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil || err != bufio.ErrBufferFull: //nolint:errorlint // it is documented to be this one
			if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && err == nil {
				line = append(append([]byte("data: "), b.message(bytes.TrimSpace(data))...), '\n')
			}
			return line, err
		case len(line) >= maxMarked:
			b.passed = true
			return line, nil
		}
	}
}

// message marks the result of a message that has one.
func (b *markBody) message(raw []byte) []byte {
	m := members(raw)
	if m == nil || m["result"] == nil {
		return raw
	}
	m["result"] = Mark(b.method, m["result"])
	out, err := json.Marshal(m)
	if err != nil {
		return raw
	}
	return out
}
