// Package answers lets others see and change the results of a server before the SDK does, on every transport.
package answers

import (
	"context"
	"encoding/json"
	"maps"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Look is shown the result of one request and returns it as the SDK is to see it.
type Look func(result json.RawMessage) json.RawMessage

// A Picker returns what is to look at the result of a request, nil for nothing. The context is the one in which the
// request is sent, and stray what the server wrote beside messages, nil over HTTP.
type Picker func(ctx context.Context, method string, stray *Stray) Look

// Transport returns a transport on which results are looked at. For streamable HTTP it is [RoundTripper] that
// does so: the SDK tells the connection of that transport things in ways that pass no wrapper.
func Transport(t mcp.Transport, pick Picker) mcp.Transport { return &transport{t, pick} }

type transport struct {
	mcp.Transport

	pick Picker
}

func (t *transport) Connect(ctx context.Context) (mcp.Connection, error) {
	stray := new(Stray)
	c, err := connect(ctx, t.Transport, stray)
	if err != nil {
		return nil, err
	}
	return &connection{Connection: c, pick: t.pick, stray: stray, asked: make(map[any]question)}, nil
}

// connection recognizes results by the requests that went out through it.
type connection struct {
	mcp.Connection

	pick  Picker
	stray *Stray
	mu    sync.Mutex
	asked map[any]question // by the id of the request
}

// A question is a request whose result is looked at.
type question struct {
	ctx  context.Context
	look Look
}

func (c *connection) Write(ctx context.Context, msg jsonrpc.Message) error {
	if r, ok := msg.(*jsonrpc.Request); ok && r.IsCall() {
		if look := c.pick(ctx, r.Method, c.stray); look != nil {
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
