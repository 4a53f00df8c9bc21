package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// With several servers, lists are joined, names get their server in front, and a request that names
// something goes to the server that has it.

// routeSeveral hands a message of the client's to the servers that it is for.
func (s *session) routeSeveral(m *message) {
	if !m.isRequest() {
		for _, one := range s.servers {
			one.relay(s.ctx, m)
		}
		return
	}
	answer := map[string]func(context.Context, *message) (json.RawMessage, error){
		"initialize":               s.greetAll,
		methodDiscover:             s.greetAll,
		"ping":                     func(context.Context, *message) (json.RawMessage, error) { return json.RawMessage("{}"), nil },
		methodSetLevel:             s.tellAll,
		"prompts/list":             s.listAll("prompts"),
		"resources/list":           s.listAll("resources"),
		"resources/templates/list": s.listAll("resourceTemplates"),
		"prompts/get":              s.getPrompt,
		"completion/complete":      s.complete,
		methodListen:               s.tellAll,
	}[m.Method]
	if answer == nil {
		answer = func(ctx context.Context, m *message) (json.RawMessage, error) {
			return s.askOwnerOf(ctx, m, textOf(m.Params, "uri")) // without one, any that has the method
		}
	}
	s.begin(m, answerBy(answer))
}

// ofEach asks all servers at once.
func ofEach[T any](servers []*server, ask func(*server) (T, error)) (results []T, errs []error) {
	results, errs = make([]T, len(servers)), make([]error, len(servers))
	var asking sync.WaitGroup
	for i, one := range servers {
		asking.Go(func() { results[i], errs[i] = ask(one) })
	}
	asking.Wait()
	return results, errs
}

// tellAll makes the request at all servers, and returns the first result or refusal. A server without the method, or
// one that is away, does not count unless all are.
func (s *session) tellAll(ctx context.Context, m *message) (json.RawMessage, error) {
	if m.Method == methodSetLevel { // the client is notified when it is back
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.proxy.late, errLate)
		defer cancel()
	}
	results, errs := ofEach(s.servers, func(one *server) (json.RawMessage, error) {
		if m.Method == methodSetLevel && one.isAway() {
			return nil, errLate // it is notified when the server is back
		}
		return one.ask(ctx, m)
	})
	for i, err := range errs {
		if err == nil || !unknownMethod(err) && !errors.Is(err, errLate) {
			return results[i], err
		}
	}
	return nil, errs[0]
}

// unknownMethod reports whether a server does not have the method that it was asked for.
func unknownMethod(err error) bool {
	reply, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && reply.Code == jsonrpc.CodeMethodNotFound
}

// mostPages is how many pages of a list are read, and maxListed how many bytes of them, so that a server without an end
// can neither hold a client up nor fill the memory. A server that lists more is left out with an error.
const (
	mostPages = 1000
	maxListed = 32 << 20
)

// listAll puts together what all servers list.
func (s *session) listAll(member string) func(context.Context, *message) (json.RawMessage, error) {
	return func(ctx context.Context, m *message) (json.RawMessage, error) {
		lists, errs := ofEach(s.servers, func(one *server) ([]json.RawMessage, error) { return one.listed(ctx, m, member) })
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := listError(errs); err != nil {
			return nil, err
		}
		all := []json.RawMessage{}
		for i, list := range lists {
			if errs[i] != nil && !unknownMethod(errs[i]) {
				kind, _, _ := strings.Cut(m.Method, "/")
				s.servers[i].without(kind, errs[i])
			}
			if errs[i] == nil {
				all = append(all, s.owners.keep(s.servers[i], member, list)...)
			}
		}
		result := map[string]any{member: all}
		if m.meta[mcp.MetaKeyProtocolVersion] != nil {
			result["resultType"], result["ttlMs"], result["cacheScope"] = "complete", 0, "private"
		}
		return json.Marshal(result)
	}
}

// listed reads a list of a server that is there, and is not late with it.
func (s *server) listed(ctx context.Context, m *message, member string) (all []json.RawMessage, err error) {
	if s.isAway() && s.isLate() {
		return nil, errLate
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.session.proxy.late, errLate)
	defer cancel()
	seen, bytes := make(map[string]bool), 0
	for range mostPages {
		raw, err := s.ask(ctx, m)
		if err != nil {
			return nil, err
		}
		some, next, err := pageOf(raw, member)
		if bytes += len(raw); err != nil {
			return nil, s.unlisted(m, err)
		} else if most := s.session.proxy.maxListed; bytes > most {
			return nil, s.unlisted(m, fmt.Errorf("it has more than %d bytes", most))
		}
		if again := seen[next]; next != "" && again { // a server that ignores cursors lists the same page again
			return appendNew(all, some), nil
		}
		if all = append(all, some...); next == "" {
			return all, nil
		}
		seen[next] = true
		m = m.with("cursor", next)
	}
	return nil, s.unlisted(m, fmt.Errorf("it has more than %d pages", mostPages))
}

// unlisted is the error of a list that is not read, neither its pages before.
func (s *server) unlisted(m *message, why error) error {
	return fmt.Errorf("proxy: the list that %q gives for %s is not read: %w", s.Name, m.Method, why)
}

// pageOf returns what a page lists, and the cursor of the next one, "" for none: null, as some write it, is not a cursor.
func pageOf(raw json.RawMessage, member string) (some []json.RawMessage, next string, err error) {
	page := members(raw)
	if json.Unmarshal(page[member], &some) != nil {
		return nil, "", fmt.Errorf("%s is %.40s, want a list", member, cmp.Or(string(page[member]), "absent"))
	}
	if cursor := page["nextCursor"]; cursor != nil && json.Unmarshal(cursor, &next) != nil {
		return nil, "", fmt.Errorf("nextCursor is %.40s, want a string", cursor)
	}
	return some, next, nil
}

// appendNew appends those that are not there yet.
func appendNew(all, some []json.RawMessage) []json.RawMessage {
	known := make(map[string]bool, len(all)) // a server may list a million
	for _, one := range all {
		known[string(one)] = true
	}
	for _, one := range some {
		if !known[string(one)] {
			known[string(one)] = true
			all = append(all, one)
		}
	}
	return all
}

// prefixed returns the name of a server's tool or prompt at the client of several servers.
func prefixed(server, name string) string {
	return (&middleware.Tool{Server: server, Definition: &mcp.Tool{Name: name}}).ModelName()
}

// owners say which server has what was listed.
type owners struct {
	resources claims // URIs

	mu      sync.Mutex
	prompts map[*server]map[string]string // of the last list of each, the name there by the name at the client
}

// keep records the owners of things, and renames prompts for the client.
func (o *owners) keep(s *server, member string, list []json.RawMessage) []json.RawMessage {
	if member == "prompts" {
		return o.keepPrompts(s, list)
	}
	for _, raw := range list {
		o.resources.claim(cmp.Or(textOf(raw, "uri"), textOf(raw, "uriTemplate")), s)
	}
	return list
}

// keepPrompts keeps the prompts of a server in place of those that it had before, and returns them with their names at
// the client. It leaves out what is more than it keeps, so that each one that is listed can be asked for.
func (o *owners) keepPrompts(s *server, list []json.RawMessage) []json.RawMessage {
	kept, bytes := make(map[string]string), 0
	for i, raw := range list {
		name := textOf(raw, "name")
		known := prefixed(s.Name, name)
		if bytes += len(name) + len(known); i >= maxClaims || bytes > maxClaimsBytes {
			s.log.Warn("proxy: the server lists more prompts than the proxy keeps; the others were left out",
				slog.Int("listed", len(list)), slog.Int("kept", i))
			list = list[:i]
			break
		}
		kept[known] = name
		list[i] = withMember(raw, "name", known)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.prompts == nil {
		o.prompts = make(map[*server]map[string]string)
	}
	o.prompts[s] = kept
	return list
}

// owned is a prompt of a server, with its name there.
type owned struct {
	server *server
	name   string
}

// promptOf returns the prompt that has a name at the client. Of two the first server's counts, as configured.
func (s *session) promptOf(known string) (owned, bool) {
	s.owners.mu.Lock()
	defer s.owners.mu.Unlock()
	for _, one := range s.servers {
		if name, ok := s.owners.prompts[one][known]; ok {
			return owned{one, name}, true
		}
	}
	return owned{}, false
}

// prompt finds a prompt by its name at the client.
func (s *session) prompt(ctx context.Context, known string, m *message) (owned, error) {
	o, ok := s.promptOf(known)
	if !ok {
		list := &message{ID: m.ID, Method: "prompts/list", Params: s.withMeta(struct{}{})}
		if _, err := s.listAll("prompts")(ctx, list); err != nil {
			return owned{}, err
		}
		if o, ok = s.promptOf(known); !ok {
			return owned{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "proxy: no server lists this prompt"}
		}
	}
	return o, nil
}

// getPrompt asks the server of a prompt for it, by its name there.
func (s *session) getPrompt(ctx context.Context, m *message) (json.RawMessage, error) {
	o, err := s.prompt(ctx, textOf(m.Params, "name"), m)
	if err != nil {
		return nil, err
	}
	return o.server.ask(ctx, m.with("name", o.name))
}

// complete asks the server of a prompt or a resource for completions of an argument.
func (s *session) complete(ctx context.Context, m *message) (json.RawMessage, error) {
	ref := member(m.Params, "ref") // without one no server has it
	if uri := textOf(ref, "uri"); uri != "" {
		return s.askOwnerOf(ctx, m, uri)
	}
	o, err := s.prompt(ctx, textOf(ref, "name"), m)
	if err != nil {
		return nil, err
	}
	return o.server.ask(ctx, m.with("ref", withMember(ref, "name", o.name)))
}

// askOwnerOf asks the server that listed a URI, or else one after the other until one has an answer.
// None of these requests changes what a person would be asked about.
func (s *session) askOwnerOf(ctx context.Context, m *message, uri string) (result json.RawMessage, err error) {
	if owner := s.owners.resources.by(uri); owner != nil {
		return owner.ask(ctx, m)
	}
	err = errLate
	for _, one := range s.servers {
		if len(s.servers) > 1 && one.isLate() {
			continue
		}
		if result, err = one.ask(ctx, m); err == nil || ctx.Err() != nil {
			return result, err
		}
	}
	return nil, err
}
