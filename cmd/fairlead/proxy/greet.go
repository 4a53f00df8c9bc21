package proxy

// Handshakes. One server shakes hands with the client itself: the messages pass. There are two other cases.
//
// Several servers are introduced as one, which has what any of them offers and speaks the oldest of their revisions.
// Clients give up a start after ten seconds and more, and a server of several may take longer. So a handshake is
// answered when all servers have answered, or when one has and [lateAfter] is over; the session finishes the handshakes
// of the others by itself (see [server.meet]), and the client is notified of their lists when they are there.
//
// A server that was restarted is greeted by the session with what the client had said to the one before it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// greetAll answers the client's handshake for all servers.
func (s *session) greetAll(ctx context.Context, m *message) (json.RawMessage, error) {
	results, err := s.greetings(ctx, m)
	if err != nil {
		return nil, err
	}
	merged, capabilities := make(map[string]any), make(map[string]any)
	var instructions []string
	version := ""
	for i, raw := range results {
		if raw == nil { // it may have tools, as soon as it is there
			unite(capabilities, map[string]any{"tools": map[string]any{"listChanged": true}})
			continue
		}
		var one map[string]any
		if err := decode(raw, &one); err != nil {
			return nil, err
		}
		if len(merged) == 0 {
			maps.Copy(merged, one)
		}
		intersect(merged, one)
		offers, _ := one["capabilities"].(map[string]any)
		unite(capabilities, offers)
		if text := textOf(raw, "instructions"); text != "" {
			instructions = append(instructions, s.servers[i].Name+":\n"+text)
		}
		speaks := textOf(raw, "protocolVersion")
		if version == "" || speaks < version {
			version = speaks
		}
		s.servers[i].version.Store(speaks)
	}
	merged["capabilities"] = capabilities
	merged["serverInfo"] = map[string]any{"name": "fairlead", "version": "0"}
	if meta, ok := merged["_meta"].(map[string]any); ok && meta[mcp.MetaKeyServerInfo] != nil {
		meta[mcp.MetaKeyServerInfo] = merged["serverInfo"]
	}
	if len(instructions) > 0 {
		merged["instructions"] = strings.Join(instructions, "\n\n")
	}
	if m.Method == "initialize" {
		merged["protocolVersion"] = version // the oldest: each of them speaks it
		s.version.Store(version)
		s.introduce()
	}
	raw, err := json.Marshal(merged)
	if m.Method == methodDiscover && s.proxy.o.Confirm != nil {
		raw = declared(raw)
	}
	return raw, err
}

// intersect keeps what all have of lists of texts, such as revisions, and the first of all else.
func intersect(to, from map[string]any) {
	for key, value := range to {
		mine, ok := value.([]any)
		theirs, _ := from[key].([]any)
		if ok {
			to[key] = slices.DeleteFunc(mine, func(v any) bool { return !slices.Contains(theirs, v) })
		}
	}
}

// unite puts into to what only from has.
func unite(to, from map[string]any) {
	for key, value := range from {
		mine, isObject := to[key].(map[string]any)
		theirs, _ := value.(map[string]any)
		switch {
		case isObject:
			unite(mine, theirs)
		case to[key] == nil || value == true:
			to[key] = value
		}
	}
}

// A greeting is the answer of one server to a handshake.
type greeting struct {
	of     int
	result json.RawMessage
	err    error
}

// greetings shakes hands with all servers, or at least one. The results of the others are nil.
func (s *session) greetings(ctx context.Context, m *message) ([]json.RawMessage, error) {
	asking := s.ctx // who began an initialize has to end it
	if m.Method != "initialize" {
		var cancel context.CancelFunc
		asking, cancel = context.WithCancel(ctx)
		defer cancel()
	}
	came, over := make(chan greeting), make(chan struct{})
	defer close(over)
	left := make([]bool, len(s.servers)) // those whose handshakes the client is not part of
	for i, one := range s.servers {
		s.calls.Go(func() {
			l, result, err := one.greeted(asking, m)
			select {
			case came <- greeting{i, result, err}:
			case <-over:
			}
			if <-over; left[i] {
				one.meet(l, result, err)
			}
		})
	}
	all := slices.Repeat([]greeting{{err: errLate}}, len(s.servers))
	patience := time.After(s.proxy.late)
	heard, late := false, false
	for open := len(all); open > 0 && !(heard && late); {
		select {
		case g := <-came:
			open--
			all[g.of] = g
			_, refused := errors.AsType[*jsonrpc.Error](g.err)
			heard = heard || refused || g.err == nil
		case <-patience:
			late = true
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if err := s.nobody(all); err != nil {
		return nil, err
	}
	results := make([]json.RawMessage, len(all))
	for i, g := range all {
		if results[i] = g.result; g.err != nil {
			s.servers[i].without("tools", g.err) // until it has shaken hands
			left[i] = m.Method == "initialize" && s.servers[i].sendAway()
		}
	}
	return results, nil
}

// greeted asks for a handshake. An initialize goes to the process that is there, since a restart
// shakes hands anyway.
func (s *server) greeted(ctx context.Context, m *message) (link, json.RawMessage, error) {
	if m.Method == "initialize" && s.isAway() {
		return nil, nil, errLate
	}
	l, err := s.ready(ctx)
	if err != nil {
		return nil, nil, err
	}
	answer, err := s.exchange(ctx, l, m.Method, m.Params, m.id())
	if err != nil {
		return l, nil, err
	}
	return l, answer.Result, nil
}

// nobody is the error of a handshake without a result of any server, nil if there is one.
func (s *session) nobody(all []greeting) error {
	if slices.ContainsFunc(all, func(g greeting) bool { return g.err == nil }) {
		return nil
	}
	for _, g := range all {
		if _, said := errors.AsType[*jsonrpc.Error](g.err); said {
			return g.err
		}
	}
	if one := s.servers[0]; !s.greeted.Load() {
		s.stop(&UnreachableError{Server: one.Name, Err: fmt.Errorf("none of the servers has answered at all: %w%s", all[0].err, one.Stderr.LastWords())})
	}
	return all[0].err
}

// hopeless reports whether all servers have gone away before any of them had answered.
func (s *session) hopeless() bool {
	return !s.greeted.Load() && !slices.ContainsFunc(s.servers, func(one *server) bool { return !one.isAway() })
}

// meet ends a handshake that no call waited for, or begins anew if it failed.
func (s *server) meet(l link, result json.RawMessage, err error) {
	if err == nil {
		ctx, cancel := context.WithTimeout(s.session.ctx, handshakePatience)
		defer cancel()
		if err = s.session.welcome(ctx, s, l, result); err == nil {
			err = s.back(l)
		}
	}
	if err != nil && s.session.ctx.Err() == nil {
		if l != nil {
			go l.close()
		}
		go s.restart(err)
	}
}

// greet shakes hands with a restarted server, as the client did with the one before it.
func (s *session) greet(ctx context.Context, one *server, l link) error {
	if s.version.value() == "" { // the client's revision has no greeting
		_, err := one.exchange(ctx, l, methodDiscover, withMember(nil, "_meta", s.meta.value()), "")
		return err
	}
	answer, err := one.exchange(ctx, l, "initialize", s.hello.value(), "")
	if err != nil {
		return err
	}
	return s.welcome(ctx, one, l, answer.Result)
}

// welcome ends a handshake that the client is not part of.
func (s *session) welcome(ctx context.Context, one *server, l link, result json.RawMessage) error {
	now, level := textOf(result, "protocolVersion"), s.level.value()
	switch agreed := one.version.value(); {
	case agreed != "" && now != agreed:
		return errors.New("it speaks another revision of the protocol now")
	case agreed == "" && now < s.version.value():
		return errors.New("it speaks an older revision of the protocol than the client does with the others")
	}
	one.version.Store(now)
	if err := l.send(ctx, &message{Method: "notifications/initialized"}); err != nil || level == nil {
		return err
	}
	_, err := one.exchange(ctx, l, methodSetLevel, level, "")
	return err
}
