package mount

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"github.com/fairlead-go/fairlead/internal/answers"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/rawlist"
	"github.com/fairlead-go/fairlead/internal/rawresult"
	"github.com/fairlead-go/fairlead/internal/resolution"
	"github.com/fairlead-go/fairlead/internal/sdkerr"
	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Transport prepares the way to a server, before the client connects through it. With it a catalog sees lists
// of tools as the server wrote them: an absent hint differs from a false one, a malformed tool is left out
// instead of failing the list, and the SDK caches no list. What the SDK drops of tools that a [Resolver] asks
// about is copied into their _meta, and so into their digest. Nothing else is changed.
//
// A line on the standard output of a server that is not a message, such as a banner or a log, is left out, where the
// SDK would end the session. A catalog reports it as a finding, and later ones to its logger.
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
	client := *cmp.Or(h.HTTPClient, &http.Client{})
	client.Transport = answers.RoundTripper(RoundTripper(client.Transport), looking)
	prepared.HTTPClient = &client
	return &prepared
}

const methodListTools = "tools/list"

// looking returns what to do with an answer: keep what the SDK drops, pass a list to its catalog, and a result to its call.
func looking(ctx context.Context, method string, stray *answers.Stray) answers.Look {
	if answer := rawresult.From(ctx); method == methodCallTool && answer != nil {
		return func(result json.RawMessage) json.RawMessage {
			answer.Take(result)
			return result
		}
	}
	if !resolution.Marked(method) {
		return nil
	}
	page := rawlist.From(ctx)
	if page != nil {
		stray.Log(page.Log)
	}
	return func(result json.RawMessage) json.RawMessage {
		result = resolution.Mark(method, result)
		if method == methodListTools {
			page.LeftOut(stray.Lines())
			result = page.Take(result)
		}
		return result
	}
}

// RawList passes a result of tools/list to the catalog that asked for it with ctx, and returns what the SDK's
// types can read of it. It is for a server that is reached without [Transport].
func RawList(ctx context.Context, result json.RawMessage) json.RawMessage {
	if page := rawlist.From(ctx); page != nil {
		return page.Take(result)
	}
	return result
}

// LimitDepth returns an answer to tools/list with null for what is nested deeper than 900 levels, so that the
// catalog leaves out such a tool alone. Other messages stay. It is for a server without a [Transport].
func LimitDepth(message []byte) []byte { return answers.Shallow(message) }

// Unambiguous returns an error for a JSON object that has, at any depth, an object with two members of one name,
// in any case. It is for the params of a request that is forwarded.
func Unambiguous(object json.RawMessage) error {
	return canonical.Check(object)
}

// OneResult is [OneReading] for the result of a call, with the blocks in it.
func OneResult(result []byte) error { return rawresult.Check(result) }

// KeepDigits gives the structured content and the _meta of a result that was decoded from JSON the digits that are there:
// a number that a float64 would write in another way, such as 9007199254740993 or 1.10, becomes a json.Number. It is for
// an executor without a [Transport].
func KeepDigits(res *mcp.CallToolResult, raw []byte) { rawresult.Restore(res, raw) }

// Unread returns the error of a call whose answer was not understood, for an executor without a [Transport]. The outcome
// of the call is unknown unless it is safe, and package flow takes the answer for a source all the same.
func Unread(call middleware.Call, answer []byte, why error) error {
	return fault.Unread(call, answer, why)
}

// TopReading returns the error of [OneReading] for the members of an object alone, whatever is in them.
func TopReading(text []byte, known ...string) error { return strictjson.Top(text, known...) }

// OneReading returns an error for JSON that two readers could take for different values: if an object in it, at any
// depth, has two members of one name, or if the text is an object with a member whose name differs only in case from a
// known one. It is for what a server sent and a client gets as it is.
func OneReading(text []byte, known ...string) error { return strictjson.Once(text, known...) }

// RoundTripper prepares the HTTP client of a session, before it connects:
//
//	&mcp.StreamableClientTransport{
//		Endpoint:   url,
//		HTTPClient: &http.Client{Transport: mount.RoundTripper(nil)},
//	}
//
// With it an error reports the status and Retry-After. HTTP 429 counts as refused before execution if only one
// request was sent. HTTP 503 does not; its Retry-After paces what may be repeated.
//
// It also keeps net/http from sending a POST with an Idempotency-Key again when the connection breaks, unless it
// certainly did not arrive.
//
// Put it around transports that add headers or log, and inside one that repeats. Nil means http.DefaultTransport.
func RoundTripper(base http.RoundTripper) http.RoundTripper {
	return sdkerr.RoundTripper(cmp.Or(base, http.DefaultTransport))
}

// KeepDefinitionDigits gives the schemas and the _meta of a tool that was decoded from JSON the numbers that no float64
// holds, each as a json.Number: a maximum that changes from 9007199254740992 to 9007199254740993 is a change of the
// definition, and its digest is another one. It is for a list that is read without a [Transport].
func KeepDefinitionDigits(tool *mcp.Tool, raw []byte) { rawlist.KeepDigits(tool, raw) }
