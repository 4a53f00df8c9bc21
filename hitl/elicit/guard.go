package elicit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Handler shows a person what a server asks for; it is what mcp.ClientOptions.ElicitationHandler takes.
type Handler = func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error)

// GuardHandler wraps the handler of the host's own client, for what servers ask of its user by
// elicitation. It names the server in the message, and refuses
//
//   - a form that by its message, its own words or those of one of its fields asks for a
//     secret, whether an address stands beside it or not,
//   - an address that is not http or https, has a name or a password in it, or a host
//     that is not in ASCII: what another alphabet can imitate is shown as punycode.
//
// It fetches nothing. The texts in a form's schema are the server's: escape them. The host names the server
// of each session; one without a name is refused. GuardHandler panics where one of its arguments is nil.
func GuardHandler(server func(*mcp.ClientSession) string, show Handler) Handler {
	if server == nil || show == nil {
		panic("elicit: GuardHandler needs a func that names the servers and a handler")
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
		shown.Message = fmt.Sprintf("The server %s asks. This is not an approval of a call.\n\n    %s",
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
		return errors.New("its form cannot be read: its properties are not an object")
	}
	if what := wordsFault(form); what != "" {
		return errors.New("its form" + what)
	}
	for name, field := range fields {
		words, ok := field.(map[string]any)
		if !ok {
			return fmt.Errorf("its form cannot be read: its field %.80q is not an object", name)
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

// wordsFault returns what is wrong with the title or the description of a form or a field, "" for nothing.
func wordsFault(of map[string]any) string {
	for _, name := range []string{"title", "description"} {
		switch text, ok := of[name].(string); {
		case !ok && of[name] != nil:
			return " has a " + name + " that is not a string"
		case aboutSecret(text):
			return fishes
		}
	}
	return ""
}

// aboutSecret reports whether a text, or a word of it, names a secret.
func aboutSecret(text string) bool {
	between := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	return redact.IsSecret(text) || slices.ContainsFunc(strings.FieldsFunc(text, between), redact.IsSecret)
}

// addressFault returns what keeps an address from being shown: a person could take it for another one.
func addressFault(address string) error {
	u, err := url.Parse(address)
	switch {
	case len(address) > maxAddress:
		return fmt.Errorf("its address has %d bytes, more than %d", len(address), maxAddress)
	case err != nil:
		return errors.New("its address is not a valid URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("its address has the scheme %.20q, and only http and https are shown", u.Scheme)
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
