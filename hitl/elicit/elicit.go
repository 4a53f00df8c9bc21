// Package elicit asks the user of the client that called the host's own server, by
// MCP's elicitation: a form with one choice, shown by the client before the tool runs.
//
// The client is the user's agent and can say what it likes, so that this guards
// users against servers' tools and models, and not a server against its clients.
package elicit

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/incoming"
	"github.com/fairlead-go/fairlead/redact"
	"github.com/fairlead-go/fairlead/safetext"
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
	ask := incoming.ElicitOf(ctx)
	if ask == nil {
		return hitl.Decision{}, unsupported("its request has no session")
	}
	res, err := ask(ctx, form)
	if err != nil {
		return hitl.Decision{}, fmt.Errorf("elicit: no answer from the client: %w", err)
	}
	return decide(req, res, request)
}

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
			Message: fmt.Sprintf("%s waits for your approval on this page.", safetext.Cut(safetext.Line(request.Tool.String()), maxText)),
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

func (c *confirmer) second(req *mcp.CallToolRequest, request hitl.Request) (hitl.Decision, error) {
	if err := c.open(request); err != nil {
		return hitl.Decision{}, err
	}
	res := new(mcp.ElicitResult)
	raw, err := json.Marshal(request.Input.Responses[inputKey]) // which may be of a host's own type
	if err != nil || json.Unmarshal(raw, res) != nil || len(request.Input.Responses) != 1 {
		return hitl.Decision{}, errForm
	}
	return decide(req, res, request)
}

// A seal is when the question ends, in nanoseconds since 1970, and the MAC over that
// and everything that was asked. The encoding has one text for each value.
const sealBytes = 8 + sha256.Size

var encoding = base64.RawURLEncoding.Strict()

var (
	errSeal = errors.New("elicit: the answer does not belong to this question; it was altered, or is for another call")
	errLate = errors.New("elicit: the answer came too late")
)

func (c *confirmer) seal(request hitl.Request) string {
	text := binary.BigEndian.AppendUint64(make([]byte, 0, sealBytes), uint64(request.Deadline.UnixNano()))
	return encoding.EncodeToString(c.mac(text, request))
}

func (c *confirmer) open(request hitl.Request) error {
	text, err := encoding.DecodeString(request.Input.State)
	if err != nil || len(text) != sealBytes || !hmac.Equal(text, c.mac(text[:8:8], request)) {
		return errSeal
	}
	if until := time.Unix(0, int64(binary.BigEndian.Uint64(text))); !time.Now().Before(until) {
		return errLate
	}
	return nil
}

// mac appends to until the MAC over it and the question, without what another leg, or
// another replica, may have in other words.
func (c *confirmer) mac(until []byte, request hitl.Request) []byte {
	request.CallID, request.Why, request.Undo, request.Suggestion = "", "", "", ""
	h := hmac.New(sha256.New, c.key)
	_, _ = io.WriteString(h, "fairlead/hitl/elicit 2"+string(until)+request.Digest()) // both have one length
	return h.Sum(until)
}

// What is shown at most. A person who does not see all that will be sent cannot agree
// to it, so that longer arguments are not asked about.
const (
	maxShown = 16 << 10 // bytes of arguments, drafts and what else is sent
	maxText  = 160      // of a description
	maxWords = 500      // of the host's own
)

// question is the form for a call. Texts of servers and models are in rows
// that are set in, where a client that reads Markdown shows it as it is.
func question(request hitl.Request) (*mcp.ElicitParams, error) {
	message, err := message(request)
	if err != nil {
		return nil, err
	}
	properties := map[string]any{
		"decision": map[string]any{"type": "string", "title": "Decision", "enum": []string{"deny", "allow"}},
	}
	if len(request.Offers) > 0 {
		var names, texts []string
		for _, c := range request.Choices() {
			names, texts = append(names, c.Name), append(texts, c.Text)
		}
		properties["remember"] = map[string]any{"type": "string", "title": "Remember an approval", "enum": names, "enumNames": texts}
	}
	if ends := request.Ends; len(ends) > 1 {
		var names, texts []string
		for _, e := range ends {
			names, texts = append(names, e.Name), append(texts, e.String())
		}
		properties["always"] = map[string]any{
			"type": "string", "title": "How long, if it is remembered for always", "enum": names, "enumNames": texts, "default": names[len(names)-1],
		}
	}
	for i, m := range request.Free {
		properties[freeName(i)] = map[string]any{"type": "boolean", "title": "Leave " + safetext.Line(m.Name) + " free in what is remembered", "description": m.String()}
	}
	return &mcp.ElicitParams{
		Mode: "form", Message: message,
		RequestedSchema: map[string]any{"type": "object", "properties": properties, "required": []string{"decision"}},
	}, nil
}

func message(request hitl.Request) (string, error) {
	var b strings.Builder
	b.WriteString("Allow this call? If you do not know what it is for, deny it.\n\n")
	row := func(name string, texts ...string) {
		for _, text := range texts {
			if text != "" {
				fmt.Fprintf(&b, "    %s%s\n", name, text)
			}
		}
	}
	row("", safetext.Line(fmt.Sprintf("%s: %s", request.Tool, request.Tool.Safety())))
	row("", request.Reasons()...) // the server's words in them are quoted
	row("it says of itself: ", safetext.Cut(safetext.Line(request.Tool.Definition.Description), maxText))
	row("why: ", safetext.Cut(safetext.Line(request.Why), maxWords))
	row("undo: ", safetext.Cut(safetext.Line(request.Undo), maxWords))
	row("caution: ", request.Caution())
	before := b.Len()
	b.WriteString("\nArguments:\n\n")
	row("", safetext.JSONRows(request.Arguments)...)
	if request.Extra != nil {
		b.WriteString("\nAlso sent:\n\n")
		row("", safetext.JSONRows(request.Extra)...)
	}
	for _, d := range request.Drafts {
		b.WriteString("\nDraft:\n\n")
		row("id: ", safetext.Line(d.ID))
		row("", safetext.Rows(d.Shown)...)
	}
	if n := b.Len() - before; n > maxShown {
		return "", unsupported(fmt.Sprintf("the arguments take %d bytes to show, and a form has room for %d", n, maxShown))
	}
	if len(request.Offers) > 0 {
		b.WriteString("\nWhat can be remembered:\n\n")
	}
	for _, c := range request.Choices()[1:] {
		row(c.Name+": ", c.Text)
	}
	row("suggested: ", request.Suggestion)
	return b.String(), nil
}

var (
	errForm   = errors.New("elicit: the client's answer is not one that the form has")
	errClosed = errors.New("elicit: the form was closed without a decision")
)

// decide reads a form that came back. Anything but exactly one of its answers is no answer.
func decide(req *mcp.CallToolRequest, res *mcp.ElicitResult, request hitl.Request) (hitl.Decision, error) {
	decision := hitl.Decision{By: user(req)}
	switch _, addresses := canShow(req); {
	case res == nil:
		return hitl.Decision{}, errForm
	case res.Action == "decline":
		return decision, nil
	case res.Action == "cancel":
		return hitl.Decision{}, errClosed
	case res.Action != "accept":
		return hitl.Decision{}, errForm
	case addresses:
		return hitl.Decision{}, unsupported("its user was sent to a page")
	}
	members := make(map[string]string, len(request.Free))
	for i, m := range request.Free {
		members[freeName(i)] = m.Name
	}
	for name, value := range res.Content {
		text, ok := value.(string)
		switch member, frees := members[name]; {
		case frees && value == true:
			decision.Free = append(decision.Free, member)
		case frees && value == false:
		case !ok:
			return hitl.Decision{}, errForm
		case name == "decision" && (text == "allow" || text == "deny"):
			if text == "allow" {
				decision.Verdict = hitl.Approved
			}
		case name == "remember" && len(request.Offers) > 0:
			offered := request.Choices()
			i := slices.IndexFunc(offered, func(c hitl.Choice) bool { return c.Name == text })
			if i < 0 {
				return hitl.Decision{}, errForm
			}
			decision.Remember, decision.Offer = offered[i].Decision.Remember, offered[i].Decision.Offer
		case name == "always":
			if decision.Lifetime, ok = request.End(text); !ok {
				return hitl.Decision{}, errForm
			}
		default:
			return hitl.Decision{}, errForm
		}
	}
	if _, there := res.Content["decision"]; !there {
		return hitl.Decision{}, errForm
	}
	return decision, nil
}

// freeName is the name of the field that leaves a member free; the member's own name may be
// that of another field.
func freeName(i int) string { return fmt.Sprintf("free-%d", i+1) }

// user names who answered, where the request was authenticated.
func user(req *mcp.CallToolRequest) string {
	if req == nil || req.Extra == nil || req.Extra.TokenInfo == nil {
		return ""
	}
	return req.Extra.TokenInfo.UserID
}

// A Handler shows a person what a server asks for; it is what mcp.ClientOptions.ElicitationHandler takes.
type Handler = func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error)

// Screen wraps the handler of the host's own client, for what servers ask of its user by
// elicitation. It names the server in the message, and refuses
//
//   - a form that by its message, its own words or those of one of its fields asks for a
//     secret, whether an address stands beside it or not,
//   - an address that is not http or https, has a name or a password in it, or a host
//     that is not in ASCII: what another alphabet can imitate is shown as punycode.
//
// It fetches nothing. The texts in a form's schema are the server's: escape them. The host names the server
// of each session; one without a name is refused. Screen panics where one of its arguments is nil.
func Screen(server func(*mcp.ClientSession) string, show Handler) Handler {
	if server == nil || show == nil {
		panic("elicit: Screen needs a func that names the servers and a handler")
	}
	return func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		if req == nil || req.Params == nil {
			return nil, errors.New("elicit: a server asked for nothing; nothing was shown")
		}
		name := server(req.Session)
		if name == "" {
			return nil, errors.New("elicit: a server without a name asked for input; nothing was shown")
		}
		address, err := fault(req.Params)
		if err != nil {
			return nil, fmt.Errorf("elicit: the server %s asked for input, and nothing was shown: %w", name, err)
		}
		shown := *req.Params
		shown.Message = fmt.Sprintf("The server %s asks. This is no approval of a call.\n\n    %s",
			safetext.Line(name), strings.ReplaceAll(safetext.Cut(safetext.Text(shown.Message), maxAsked), "\n", "\n    "))
		if address != "" {
			shown.Message += "\n\nIt wants you to open:\n\n    " + address
		}
		return show(ctx, &mcp.ElicitRequest{Session: req.Session, Params: &shown})
	}
}

const (
	maxAsked   = 4000 // bytes of a server's message
	maxAddress = 2000 // bytes; a longer one cannot be read
)

// fault returns what keeps a server's question from being shown, and otherwise returns
// the address that it is about, if it is about one.
func fault(asked *mcp.ElicitParams) (address string, err error) {
	if aboutSecret(asked.Message) {
		return "", errors.New("its message asks for what looks like a secret")
	}
	if err := formFault(asked.RequestedSchema); err != nil || asked.Mode != "url" && asked.URL == "" {
		return "", err
	}
	return asked.URL, addressFault(asked.URL)
}

// formFault reads a form by the exact names of its members: encoding/json takes others
// for the same, and with them a harmless text for the one that is shown.
func formFault(schema any) error {
	if schema == nil {
		return nil
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	var form map[string]any
	if err := json.Unmarshal(raw, &form); err != nil {
		return fmt.Errorf("its form cannot be read: %w", err)
	}
	fields, ok := form["properties"].(map[string]any)
	if !ok && form["properties"] != nil {
		return errors.New("its form cannot be read: its properties are no object")
	}
	if what := wordsFault(form); what != "" {
		return errors.New("its form" + what)
	}
	for name, field := range fields {
		words, ok := field.(map[string]any)
		if !ok {
			return fmt.Errorf("its form cannot be read: its field %.80q is no object", name)
		}
		what := wordsFault(words)
		if aboutSecret(name) {
			what = fishes
		}
		if what != "" {
			return fmt.Errorf("its field %.80q%s", name, what)
		}
	}
	return nil
}

const fishes = " asks for what looks like a secret"

func wordsFault(of map[string]any) string {
	for _, name := range []string{"title", "description"} {
		switch text, ok := of[name].(string); {
		case !ok && of[name] != nil:
			return " has a " + name + " that is no text"
		case aboutSecret(text):
			return fishes
		}
	}
	return ""
}

func aboutSecret(text string) bool {
	between := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	return redact.IsSecret(text) || slices.ContainsFunc(strings.FieldsFunc(text, between), redact.IsSecret)
}

func addressFault(address string) error {
	u, err := url.Parse(address)
	switch {
	case len(address) > maxAddress:
		return fmt.Errorf("its address has %d bytes, more than %d", len(address), maxAddress)
	case err != nil:
		return errors.New("its address is none")
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("its address is one of %.20q, and only http and https are shown", u.Scheme)
	case u.User != nil:
		return errors.New("its address has a name in it, which hides the host")
	case u.Hostname() == "":
		return errors.New("its address has no host")
	}
	for _, r := range address + u.Host { // which is decoded
		if r >= utf8.RuneSelf || safetext.Invisible(r) {
			return errors.New("its address is not plain ASCII; a host in another alphabet is written as punycode")
		}
	}
	return nil
}
