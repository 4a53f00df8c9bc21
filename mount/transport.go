package mount

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"

	"github.com/fairlead-go/fairlead/internal/rawlist"
	"github.com/fairlead-go/fairlead/internal/resolution"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Transport prepares the way to a server, before the client connects through it.
// With it a catalogue sees its lists of tools as the server wrote them: a hint that
// is absent is told from one that is false, a malformed tool is left out instead of
// failing the whole list, and a refresh asks the server, however long the SDK would
// have remembered the last answer. What the SDK's types drop of tools that their server
// answers about before a call (see [Resolver]) is copied into their _meta, and so
// becomes part of their digest. Nothing else is changed on the way.
//
// Streamable HTTP gets [RoundTripper] as well, so one call prepares everything:
//
//	session, err := client.Connect(ctx, mount.Transport(&mcp.StreamableClientTransport{Endpoint: url}), nil)
func Transport(t mcp.Transport) mcp.Transport {
	if t == nil {
		panic("mount: Transport was given a nil transport")
	}
	h, ok := t.(*mcp.StreamableClientTransport)
	if !ok {
		return &transport{resolution.Transport(t)}
	}
	// The SDK tells the connection of this transport things in ways that pass no
	// wrapper, so the answers are read one layer below.
	prepared := *h
	client := http.Client{}
	if h.HTTPClient != nil {
		client = *h.HTTPClient
	}
	client.Transport = lists{resolution.RoundTripper(RoundTripper(client.Transport))}
	prepared.HTTPClient = &client
	return &prepared
}

const methodListTools = "tools/list"

type transport struct{ mcp.Transport }

func (t *transport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &connection{Connection: c, asked: make(map[any]question)}, nil
}

// connection shows the answers to the catalogue's lists to who asked.
type connection struct {
	mcp.Connection

	mu    sync.Mutex
	asked map[any]question // by the id of the request
}

type question struct {
	ctx  context.Context
	page *rawlist.Page
}

func (c *connection) Write(ctx context.Context, msg jsonrpc.Message) error {
	if r, ok := msg.(*jsonrpc.Request); ok && r.Method == methodListTools {
		if page := rawlist.From(ctx); page != nil {
			c.mu.Lock()
			for id, q := range c.asked { // what nobody waits for any more
				if q.ctx.Err() != nil {
					delete(c.asked, id)
				}
			}
			c.asked[r.ID.Raw()] = question{ctx, page}
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
			r.Result = q.page.Take(r.Result)
		}
	}
	return msg, err
}

// lists does over HTTP what connection does: the context of a list reaches its
// request.
type lists struct{ base http.RoundTripper }

func (l lists) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := l.base.RoundTrip(req)
	page := rawlist.From(req.Context())
	if err != nil || page == nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Encoding") != "" {
		return res, err
	}
	body := &listBody{Closer: res.Body, in: bufio.NewReader(res.Body), page: page}
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind {
	case "application/json":
		body.next = body.whole
	case "text/event-stream":
		body.next = body.event
	default:
		return res, nil
	}
	res.Body, res.ContentLength = body, -1
	res.Header.Del("Content-Length")
	return res, nil
}

// maxListBody is how much of one answer is read at once. The SDK itself reads a body
// of JSON to its end, however long it is.
const maxListBody = 32 << 20

// listBody is the body of an answer to tools/list on its way to the SDK, a message at
// a time.
type listBody struct {
	io.Closer

	in   *bufio.Reader
	page *rawlist.Page
	next func() ([]byte, error)
	out  []byte
	err  error
}

func (b *listBody) Read(p []byte) (int, error) {
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

// whole reads a body of JSON.
func (b *listBody) whole() ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(b.in, maxListBody+1))
	switch {
	case err != nil:
		return body, err
	case len(body) > maxListBody:
		return nil, errLongList
	}
	return b.message(body), io.EOF
}

var errLongList = fmt.Errorf("mount: the answer to %s has more than %d bytes", methodListTools, maxListBody)

// event reads one event of a stream, up to the empty line that ends it.
func (b *listBody) event() ([]byte, error) {
	var event, data, rest []byte
	for {
		line, err := b.in.ReadSlice('\n')
		event = append(event, line...)
		switch {
		case len(event) > maxListBody:
			return nil, errLongList
		case err == bufio.ErrBufferFull: //nolint:errorlint // it is documented to be this one
			continue
		}
		start := bytes.LastIndexByte(bytes.TrimSuffix(event, []byte("\n")), '\n') + 1
		whole := bytes.TrimRight(event[start:], "\r\n")
		if value, ok := bytes.CutPrefix(whole, []byte("data:")); ok {
			data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
		} else {
			rest = append(rest, event[start:]...)
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

// message shows a message to the page if it is the answer, and returns it as the SDK
// is to see it.
func (b *listBody) message(raw []byte) []byte {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m["result"] == nil {
		return raw
	}
	result := b.page.Take(m["result"])
	if bytes.Equal(result, m["result"]) {
		return raw
	}
	m["result"] = result
	out, err := json.Marshal(m)
	if err != nil {
		return raw
	}
	return out
}
