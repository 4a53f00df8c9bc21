package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/cmd/fairlead/dial"
)

// An entry is one server of a client, as far as it matters here.
type entry struct {
	command     []string // unexpanded
	address     string
	addressName string // the member that has it
	headers     []string
	secrets     []string // their values
	members     map[string]json.RawMessage
}

// signsIn are members of an entry by which its client signs in at the server. The proxy cannot.
var signsIn = []string{"oauth", "auth", "authProviderType", "authorization", "headersHelper", "oauth_scopes", "scopes", "oauth_resource"}

// readEntry reads an entry, which may have comments. The error is why it cannot be guarded.
func readEntry(text []byte) (entry, error) {
	root, err := parse(text)
	if err != nil {
		return entry{}, err
	}
	plain := root.Clone()
	plain.Standardize()
	var e entry
	if err := json.Unmarshal(plain.Pack(), &e.members); err != nil {
		return entry{}, err
	}
	form, err := dial.FormOf(plain.Pack())
	if err != nil {
		return entry{}, err
	}
	e.command, e.address = form.Command, form.URL
	for _, name := range []string{"url", "serverUrl", "httpUrl"} {
		if e.addressName == "" && e.members[name] != nil {
			e.addressName = name
		}
	}
	if e.address == "" {
		return e, nil
	}
	if form.SSE {
		return e, errors.New("speaks HTTP with SSE, which the protocol has given up; the proxy speaks streamable HTTP")
	}
	for _, name := range signsIn {
		if e.members[name] != nil {
			return e, fmt.Errorf("is signed in to by its client (%q), which the proxy cannot do", name)
		}
	}
	if raw := e.members["headers"]; raw != nil {
		d := json.NewDecoder(bytes.NewReader(raw)) // in their order
		if start, err := d.Token(); err != nil || start != json.Delim('{') {
			return e, errors.New(`has "headers" that are not an object`)
		}
		for d.More() {
			name, _ := d.Token()
			value, err := d.Token()
			secret, text := value.(string)
			if err != nil || !text {
				return e, errors.New(`has a value in "headers" that is not a string`)
			}
			e.headers, e.secrets = append(e.headers, fmt.Sprint(name)), append(e.secrets, secret)
		}
	}
	return e, nil
}

// guarded reports whether the entry starts the proxy.
func (e entry) guarded() bool { return isOurs(e.command, "proxy") }

// isOurs reports whether words start a command of this program.
func isOurs(words []string, command string) bool {
	if len(words) < 2 || words[1] != command {
		return false
	}
	program := strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(words[0], `\`, "/"))), ".exe")
	return program == "fairlead"
}

// A header is a header of a server whose value the client hands to the proxy in a variable.
type header struct{ name, variable string }

// check returns the headers of an entry with an address, or why it cannot be guarded.
func (e entry) check(ctx context.Context, g Guard) ([]header, error) {
	variable := strings.ContainsAny(e.address, "${") // its client replaces it, in arguments too
	if !variable && !strings.HasPrefix(e.address, "http://") && !strings.HasPrefix(e.address, "https://") {
		return nil, fmt.Errorf("has the address %.100q, want an http or https URL", e.address)
	}
	var headers []header
	for i, name := range e.headers {
		headers = append(headers, header{name, fmt.Sprintf("FAIRLEAD_HEADER_%d", i+1)})
	}
	if len(headers) == 0 && !variable && g.Check != nil {
		if err := g.Check(ctx, e.address); err != nil {
			return nil, err
		}
	}
	return headers, nil
}

// proxy returns the words that start the proxy for a server, with its address or before "--" and its command.
func (g Guard) proxy(name string, headers []header, address string) []string {
	words := slices.Concat([]string{"proxy"}, g.Flags, []string{"--name", dial.ID(name)})
	for _, h := range headers {
		words = append(words, "--header", h.name+"="+h.variable)
	}
	if address != "" {
		words = append(words, address)
	}
	return words
}
