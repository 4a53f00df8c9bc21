package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// owners say which server has what was listed.
type owners struct {
	mu        sync.Mutex
	prompts   map[string]owned // by the name that the client knows
	resources map[string]*server
}

// owned is a thing of a server's, with the name by which that knows it.
type owned struct {
	server *server
	name   string
}

// keep remembers whose things are, and gives prompts the names that the client knows.
func (o *owners) keep(s *server, member string, list []json.RawMessage) []json.RawMessage {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.prompts == nil {
		o.prompts, o.resources = make(map[string]owned), make(map[string]*server)
	}
	for i, raw := range list {
		var thing struct {
			Name     string `json:"name"`
			URI      string `json:"uri"`
			Template string `json:"uriTemplate"`
		}
		_ = json.Unmarshal(raw, &thing) // what has no name cannot be asked for either
		if member == "prompts" {
			known := prefixed(s, thing.Name)
			o.prompts[known] = owned{s, thing.Name}
			list[i] = withMember(raw, "name", known)
		} else if uri := cmp.Or(thing.URI, thing.Template); o.resources[uri] == nil {
			o.resources[uri] = s
		}
	}
	return list
}

// prompt finds a prompt by the name that the client knows.
func (s *session) prompt(ctx context.Context, known string, m *message) (owned, error) {
	find := func() (owned, bool) {
		s.owners.mu.Lock()
		defer s.owners.mu.Unlock()
		o, ok := s.owners.prompts[known]
		return o, ok
	}
	if o, ok := find(); ok {
		return o, nil
	}
	params, err := s.withMeta(struct{}{})
	if err != nil {
		return owned{}, err
	}
	if _, err := s.listAll("prompts")(ctx, &message{ID: m.ID, Method: "prompts/list", Params: params}); err != nil {
		return owned{}, err
	}
	if o, ok := find(); ok {
		return o, nil
	}
	return owned{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "proxy: no server has this prompt"}
}

func (s *session) getPrompt(ctx context.Context, m *message) (json.RawMessage, error) {
	var name string
	_ = json.Unmarshal(members(m.Params)["name"], &name) // without one there is no such prompt
	o, err := s.prompt(ctx, name, m)
	if err != nil {
		return nil, err
	}
	return o.server.ask(ctx, m.Method, withMember(m.Params, "name", o.name), m.id())
}

// complete asks the server whose prompt or template is to be completed.
func (s *session) complete(ctx context.Context, m *message) (json.RawMessage, error) {
	var p struct {
		Ref struct {
			Name string `json:"name"`
			URI  string `json:"uri"`
		} `json:"ref"`
	}
	_ = json.Unmarshal(m.Params, &p) // without a reference no server has it
	if p.Ref.URI != "" {
		return s.askOwnerOf(ctx, m, p.Ref.URI)
	}
	o, err := s.prompt(ctx, p.Ref.Name, m)
	if err != nil {
		return nil, err
	}
	ref := withMember(members(m.Params)["ref"], "name", o.name)
	return o.server.ask(ctx, m.Method, withMember(m.Params, "ref", ref), m.id())
}

// askOwner asks the server that has the resource that the request names.
func (s *session) askOwner(ctx context.Context, m *message) (json.RawMessage, error) {
	var uri string
	_ = json.Unmarshal(members(m.Params)["uri"], &uri) // without one, whoever knows the method
	return s.askOwnerOf(ctx, m, uri)
}

// askOwnerOf asks who listed an URI; where nobody did, one after the other, until one has
// an answer. None of these requests changes what a person would be asked about.
func (s *session) askOwnerOf(ctx context.Context, m *message, uri string) (result json.RawMessage, err error) {
	s.owners.mu.Lock()
	owner := s.owners.resources[uri]
	s.owners.mu.Unlock()
	if owner != nil {
		return owner.ask(ctx, m.Method, m.Params, m.id())
	}
	err = errLate
	for _, one := range s.servers {
		if len(s.servers) > 1 && one.isLate() {
			continue
		}
		if result, err = one.ask(ctx, m.Method, m.Params, m.id()); err == nil || ctx.Err() != nil {
			return result, err
		}
	}
	return nil, err
}
