// Package elicit asks the user of the client that called the host's own server, by
// MCP's elicitation: a form with one choice, shown by the client before the tool runs. The calls of
// one turn (package batch) are in one form, each with a choice of its own.
//
// The client is the user's agent and can say what it likes, so that this guards
// users against servers' tools and models, and not a server against its clients.
package elicit

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/incoming"
	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Key, of at least 32 bytes, seals what travels through a client. Replicas of one server share it and the
	// hitl.Options.Store. Nil means a random one, so that a question ends with the process.
	Key []byte
	// Link returns the address of a page on which the person can decide, for clients that open addresses and
	// show no forms. If the user agrees to open it the error is [ErrUnsupported], so that the host asks at that
	// page next. Nil means that such clients cannot be asked.
	Link func(request hitl.Request) (string, error)
}

const leastKey = 32

// New returns a Confirmer for hitl.New, in a chain that hangs before a server's tools
// (serve.New, serve.ToolHandler, or [WithRequest]).
//
// A client up to revision 2025-11-25 is sent elicitation/create while its call waits. A newer one is answered
// with a result that asks for input (a [*hitl.PendingError] within the chain), and makes the same call again
// with the answer. That second leg is sealed to the question: to its ID, the tool, its definition and class,
// the scope, the exact arguments and what was offered to be remembered, until the question ends. What is
// forged, altered, swapped or late is a denial, and so is a second answer, since the store has the question open
// once.
//
// It is a [hitl.GroupConfirmer] for clients of the first kind. A call has its own form if not all of it has room in the
// form of its turn, and so has each call of a newer client, which answers to one call.
//
// Only an accepted form with allow approves. Where the client cannot be asked the
// error is an [ErrUnsupported]. New panics on a Key that is too short.
func New(o Options) hitl.Confirmer {
	switch {
	case o.Key == nil:
		o.Key = make([]byte, leastKey)
		_, _ = rand.Read(o.Key) // it never fails
	case len(o.Key) < leastKey:
		panic(fmt.Sprintf("elicit: Options.Key has %d bytes; it needs at least %d random ones, or nil", len(o.Key), leastKey))
	}
	return &confirmer{key: slices.Clone(o.Key), link: o.Link}
}

// WithRequest returns a context that carries a client's request to the chain, for a
// host that hangs its chain itself. Package mount does it for those that it hangs.
func WithRequest(ctx context.Context, req *mcp.CallToolRequest) context.Context {
	return incoming.With(ctx, req)
}

// WithElicit returns a context whose client is asked by ask, for a host that serves a client up to revision
// 2025-11-25 without a session of the SDK. The context needs the client's request as well; see [WithRequest].
func WithElicit(ctx context.Context, ask func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)) context.Context {
	return incoming.WithElicit(ctx, ask)
}

// ErrUnsupported is in the tree of the error for a call that cannot be put to this
// client. It is a denial, unless the host asks someone else.
var ErrUnsupported = errors.New("elicit: the client cannot be asked")

func unsupported(why string) error { return fmt.Errorf("%w: %s", ErrUnsupported, why) }

type confirmer struct {
	key  []byte
	link func(hitl.Request) (string, error)
}

const inputKey = "fairlead.confirm"

// Confirm asks the client whose request ctx carries, or reads the answer that its second leg brought.
func (c *confirmer) Confirm(ctx context.Context, request hitl.Request) (hitl.Decision, error) {
	req := incoming.Of(ctx)
	if request.Input != nil {
		return c.second(req, request)
	}
	form, err := c.question(req, request)
	if err != nil {
		return hitl.Decision{}, err
	}
	if req.ProtocolVersion() >= incoming.InputRequired {
		return hitl.Decision{}, &hitl.PendingError{Requests: mcp.InputRequestMap{inputKey: form}, State: c.seal(request)}
	}
	res, err := show(ctx, form)
	if err != nil {
		return hitl.Decision{}, err
	}
	return decide(req, res, request)
}

// show has the client of the request that ctx carries show a form while its call waits.
func show(ctx context.Context, form *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	ask := incoming.ElicitOf(ctx)
	if ask == nil {
		return nil, unsupported("its request has no session")
	}
	res, err := ask(ctx, form)
	if err != nil {
		return nil, fmt.Errorf("elicit: no answer from the client: %w", err)
	}
	return res, nil
}

// question is what the client is asked: a form, or a page to open.
func (c *confirmer) question(req *mcp.CallToolRequest, request hitl.Request) (*mcp.ElicitParams, error) {
	switch forms, addresses := canShow(req); {
	case forms:
		return question(request)
	case addresses && c.link == nil:
		return nil, unsupported("it declares no elicitation by forms")
	case addresses:
		link, err := c.link(request)
		return &mcp.ElicitParams{
			Mode: "url", URL: link, ElicitationID: request.ID,
			Message: fmt.Sprintf("%s waits for your approval on this page.", safetext.Word(request.Tool.String(), maxText)),
		}, err
	case req == nil || req.Params == nil:
		return nil, unsupported("the context has no client's request; hang the chain with package mount, or use elicit.WithRequest")
	}
	return nil, unsupported("it does not declare elicitation")
}

// canShow reports what the client of a request can show: forms, or addresses alone.
func canShow(req *mcp.CallToolRequest) (forms, addresses bool) {
	if req == nil || req.Params == nil {
		return false, false
	}
	caps := req.ClientCapabilities()
	if caps == nil || caps.Elicitation == nil {
		return false, false
	}
	addresses = caps.Elicitation.Form == nil && caps.Elicitation.URL != nil
	return !addresses, addresses
}

// ShowsForms reports whether the client whose request ctx carries can be asked by a form.
func ShowsForms(ctx context.Context) bool {
	req := incoming.Of(ctx)
	forms, _ := canShow(req)
	return forms && (req.ProtocolVersion() >= incoming.InputRequired || incoming.ElicitOf(ctx) != nil)
}

// Progress reports to the client whose request ctx carries that its call waits for a
// person, if it wants to hear of progress: many keep a call for longer then. It is what
// hitl.Options.Waiting takes, on a server of the SDK.
func Progress(ctx context.Context, waited time.Duration) {
	req := incoming.Of(ctx)
	if req == nil || req.Params == nil || req.Session == nil || req.Params.GetProgressToken() == nil {
		return
	}
	_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ // a client that has gone gets nothing
		ProgressToken: req.Params.GetProgressToken(), Progress: waited.Hours(), Message: "waiting for a person's approval",
	})
}

// second reads the answer of a second leg.
func (c *confirmer) second(req *mcp.CallToolRequest, request hitl.Request) (hitl.Decision, error) {
	if err := c.open(request); err != nil {
		return hitl.Decision{}, err
	}
	res := new(mcp.ElicitResult)
	raw, err := json.Marshal(request.Input.Responses[inputKey]) // which may be of a host's own type
	if err != nil || jsontree.Into(raw, res) != nil || len(request.Input.Responses) != 1 {
		return hitl.Decision{}, errForm
	}
	return decide(req, res, request)
}
