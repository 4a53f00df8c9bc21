package mount

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/fairlead-go/fairlead/internal/answers"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/rawlist"
	"github.com/fairlead-go/fairlead/internal/resolution"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Transport prepares the way to a server, before the client connects through it.
// With it a catalogue sees its lists of tools as the server wrote them: a hint that
// is absent is told from one that is false, a malformed tool is left out instead of
// failing the whole list, and a refresh asks the server, since the SDK remembers no
// list of tools, not those either that the host asked for itself. What the SDK's types
// drop of tools that their server answers about before a call (see [Resolver]) is copied
// into their _meta, and so becomes part of their digest. Nothing else is changed on the
// way.
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
		return answers.Transport(t, looking)
	}
	prepared := *h
	client := http.Client{}
	if h.HTTPClient != nil {
		client = *h.HTTPClient
	}
	client.Transport = answers.RoundTripper(RoundTripper(client.Transport), looking)
	prepared.HTTPClient = &client
	return &prepared
}

const methodListTools = "tools/list"

// looking says what is to be done with an answer: what the SDK drops is put where it
// does not, and a list is shown to the catalogue that asked for it.
func looking(ctx context.Context, method string) answers.Look {
	if !resolution.Marked(method) {
		return nil
	}
	return func(result json.RawMessage) json.RawMessage {
		result = resolution.Mark(method, result)
		if method == methodListTools {
			result = rawlist.From(ctx).Take(result)
		}
		return result
	}
}

// RawList shows a result of tools/list to the catalog that asked for it with ctx, and
// returns what the SDK's types can read of it. It is for a server that is reached
// without an SDK session and its [Transport].
func RawList(ctx context.Context, result json.RawMessage) json.RawMessage {
	if page := rawlist.From(ctx); page != nil {
		return page.Take(result)
	}
	return result
}

// Shallow returns a message of JSON-RPC that answers tools/list with null for what is
// nested deeper than 900 levels, so that a tool with a deeper schema does not fail the
// list; the catalog leaves that tool out. Any other message is returned as it is. It is
// for a server that is reached without a [Transport].
func Shallow(message []byte) []byte { return answers.Shallow(message) }

// Unambiguous returns an error for a JSON object that two servers could read differently:
// one in which an object, at any depth, has two members of one name, in whichever case. It
// is for the params of a request that is forwarded; arguments are checked where they are sent.
func Unambiguous(object json.RawMessage) error {
	_, err := canonical.AppendObject(nil, object)
	return err
}
