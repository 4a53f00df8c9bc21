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

	"github.com/fairlead-go/fairlead/internal/escape"
	"github.com/fairlead-go/fairlead/internal/redact"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Handler shows a person what a server asks for; it is what
// mcp.ClientOptions.ElicitationHandler takes.
type Handler = func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error)

// Screen stands before the handler of a client of ours, for what servers ask of its
// user by elicitation of their own. It shows who asks, in a message that nobody takes
// for one of ours, and refuses
//
//   - a form that by its message or one of its fields asks for a secret,
//   - an address that is not http or https, has a name or a password in it, or a host
//     that is not in ASCII: what another alphabet can imitate is shown as punycode.
//
// It fetches nothing. What stands in a form's schema is the server's text: escape it.
// The host names the server of each session; one without a name is refused. Screen
// panics where one of its arguments is nil.
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
			return nil, &ScreenedError{Server: name, Err: err}
		}
		shown := *req.Params
		shown.Message = fmt.Sprintf("The server %s asks. This is no approval of a call.\n\n    %s",
			escape.Line(name), strings.ReplaceAll(escape.Cut(escape.Text(shown.Message), maxAsked), "\n", "\n    "))
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

// A ScreenedError says what a server asked for that was not shown to anybody.
type ScreenedError struct {
	Server string
	Err    error
}

func (e *ScreenedError) Error() string {
	return fmt.Sprintf("elicit: the server %s asked for input, and nothing was shown: %v", e.Server, e.Err)
}

// Unwrap returns what was wrong with it.
func (e *ScreenedError) Unwrap() error { return e.Err }

// fault says what keeps a server's question from being shown, and otherwise returns
// the address that it is about, if it is about one.
func fault(asked *mcp.ElicitParams) (address string, err error) {
	switch {
	case aboutSecret(asked.Message):
		return "", errors.New("its message asks for what looks like a secret")
	case asked.Mode == "url", asked.URL != "":
		return asked.URL, addressFault(asked.URL)
	case asked.RequestedSchema == nil:
		return "", nil
	}
	raw, err := json.Marshal(asked.RequestedSchema)
	if err != nil {
		return "", err
	}
	var form struct {
		Properties map[string]struct {
			Title       string `json:"title"`
			Description string `json:"description"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(raw, &form); err != nil {
		return "", fmt.Errorf("its form cannot be read: %w", err)
	}
	for name, field := range form.Properties {
		if aboutSecret(name) || aboutSecret(field.Title) || aboutSecret(field.Description) {
			return "", fmt.Errorf("its field %.80q asks for what looks like a secret", name)
		}
	}
	return "", nil
}

// aboutSecret reports whether a text, or one word of it, names a secret.
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
	for _, r := range address {
		if r >= utf8.RuneSelf || escape.Invisible(r) {
			return errors.New("its address is not plain ASCII; a host in another alphabet is written as punycode")
		}
	}
	return nil
}
