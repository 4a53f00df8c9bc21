package replaytest

// Reads may come in any order, so a read is answered by its arguments. What a write answers depends on those before it,
// so the writes of one tool are answered in the recorded order alone, and their arguments have to match.

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Rules are how a recording answers. The zero value is the strict one.
type Rules struct {
	// Trust has declared hints count; without it they count only where they make a tool a write.
	Trust bool
	// SimulateWrites answers a write that was not recorded with the last recorded result of the tool; false refuses it.
	SimulateWrites bool
}

// Server returns a server that answers from the recording, to one client. A read is answered by its arguments,
// repeated ones in the order of the recording and then with the last answer; each other call must be the next
// recorded one of its tool. A placeholder of a secret matches any value. A call that was not recorded is an error of
// JSON-RPC, since a model could take a failed result for an answer.
func (r *Recording) Server(rules Rules) *mcp.Server { return r.serve(rules, func(error) {}) }

func (r *Recording) serve(rules Rules, missed func(error)) *mcp.Server {
	var about struct {
		ServerInfo   mcp.Implementation `json:"serverInfo"`
		Instructions string             `json:"instructions"`
		Meta         struct {
			ServerInfo mcp.Implementation `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
	}
	about.ServerInfo.Name = "replay"
	_ = json.Unmarshal(r.server, &about) // it only has the server's name
	if about.Meta.ServerInfo.Name != "" {
		about.ServerInfo = about.Meta.ServerInfo
	}
	server := mcp.NewServer(&about.ServerInfo, &mcp.ServerOptions{
		Instructions: about.Instructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	p := &player{Recording: r, rules: rules, missed: missed, reads: r.reads(rules.Trust), used: make([]bool, len(r.calls))}
	tools := append([]json.RawMessage{}, r.tools...)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			asked, isCall := req.(*mcp.CallToolRequest)
			switch {
			case method == methodListTools:
				text, err := json.Marshal(map[string]any{"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"})
				return &result{text: text}, err
			case isCall && asked.Params != nil:
				return p.answer(asked.Params.Name, asked.Params.Arguments)
			}
			return next(ctx, method, req)
		}
	})
	return server
}

// reads returns the tools whose class is Safe.
func (r *Recording) reads(trust bool) map[string]bool {
	defs := make([]*mcp.Tool, len(r.tools))
	for i, raw := range r.tools {
		defs[i] = new(mcp.Tool)
		if json.Unmarshal(raw, defs[i]) != nil {
			defs[i] = &mcp.Tool{Name: nameOf(raw)}
		}
	}
	safe := make(map[string]bool)
	for i, a := range infer.Tools(defs) {
		var written struct {
			Annotations json.RawMessage `json:"annotations"`
		}
		_ = json.Unmarshal(r.tools[i], &written)                        // none then
		declared, _ := annotation.FromRaw(defs[i], written.Annotations) // what can be read of them
		declared = declared.Attribute(annotation.Declared, "")
		switch {
		case trust:
			a = annotation.Merge(a, declared)
		case len(declared.Evidence) > 0:
			a = annotation.Raise(a, declared)
		}
		safe[defs[i].Name] = a.Safety() == annotation.Safe
	}
	return safe
}

// result is a result as it was recorded.
type result struct {
	mcp.ResultBase

	text json.RawMessage
}

func (r *result) MarshalJSON() ([]byte, error) { return r.text, nil }

// A player answers the calls of one session.
type player struct {
	*Recording

	rules  Rules
	missed func(error)
	reads  map[string]bool

	mu   sync.Mutex
	used []bool
}

// missedf returns the error of a call without a recorded answer.
func (p *player) missedf(format string, args ...any) error {
	err := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "replay: " + fmt.Sprintf(format, args...)}
	p.missed(err)
	return err
}

// answer finds the recorded answer of a call, or explains by the nearest recorded call why there is none.
func (p *player) answer(tool string, arguments json.RawMessage) (mcp.Result, error) {
	text, err := canonical.AppendObject(nil, arguments)
	if err != nil {
		return nil, p.missedf("the arguments of %s: %v", tool, err)
	}
	asked, err := jsontree.Decode(text)
	if err != nil {
		return nil, p.missedf("the arguments of %s: %v", tool, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	last, found, next := -1, -1, -1 // of the tool, of the answer, of the writes
	for i, c := range p.calls {
		if c.Tool != tool {
			continue
		}
		last = i
		if next < 0 && !p.used[i] {
			next = i
		}
		if !p.reads[tool] && i != next || found >= 0 && !p.used[found] {
			continue
		}
		if match(tree(c.Arguments), asked) {
			found = i
		}
	}
	switch {
	case last < 0:
		return nil, p.missedf("no call of %s was recorded; record anew with one", tool)
	case found >= 0:
		p.used[found] = true
	case !p.reads[tool] && p.rules.SimulateWrites && p.calls[last].Result != nil:
		found = last
	case !p.reads[tool] && next < 0:
		return nil, p.missedf("%s was called more often than recorded; record anew, or simulate writes", tool)
	case !p.reads[tool]:
		return nil, p.missedf("%s; it is the next recorded call of the tool, calls/%d: make the calls in the recorded order, or record anew",
			differs(tool, p.calls[next], asked), next)
	default:
		near := p.nearest(tool, asked)
		return nil, p.missedf("%s; it is the nearest recorded call, calls/%d: ask as recorded, or record anew", differs(tool, p.calls[near], asked), near)
	}
	c := p.calls[found]
	switch {
	case c.Missing != "":
		return nil, p.missedf("calls/%d of %s has no answer in the recording: %s", found, tool, c.Missing)
	case c.Error != nil:
		var wire jsonrpc.Error
		if err := json.Unmarshal(c.Error, &wire); err != nil {
			return nil, p.missedf("the error of calls/%d cannot be read: %v", found, err)
		}
		return nil, &wire
	}
	return &result{text: c.Result}, nil
}

// tree returns the value of JSON that was checked before, with numbers as they are written.
func tree(raw json.RawMessage) any {
	v, _ := jsontree.Decode(raw) // it was read once
	return v
}

// match reports whether a recorded value is the one that is asked with. A placeholder matches any value.
func match(recorded, asked any) bool {
	switch r := recorded.(type) {
	case map[string]any:
		a, ok := asked.(map[string]any)
		return ok && maps.EqualFunc(r, a, match)
	case []any:
		a, ok := asked.([]any)
		return ok && slices.EqualFunc(r, a, match)
	case string:
		if !placeholder.MatchString(r) || placeholder.FindString(r) == r {
			return recorded == asked || placeholder.MatchString(r)
		}
		text, ok := asked.(string)
		return ok && around(placeholder.Split(r, -1)).MatchString(text)
	}
	return recorded == asked
}

// nearest returns the recorded call of a tool with the fewest differences.
func (p *player) nearest(tool string, asked any) int {
	best, least := -1, 0
	for i, c := range p.calls {
		if c.Tool != tool {
			continue
		}
		if d := len(differences(tree(c.Arguments), asked, "")); best < 0 || d < least {
			best, least = i, d
		}
	}
	return best
}

// differs describes how a call differs from a recorded one.
func differs(tool string, c call, asked any) string {
	asked = tree(new(redact.Redactor).JSON(json.RawMessage(jsontree.Encode(asked)), nil))
	const most = 3
	all := differences(tree(c.Arguments), asked, "")
	if len(all) > most {
		all = append(all[:most], fmt.Sprintf("and %d more", len(all)-most))
	}
	return fmt.Sprintf("%s was not recorded: it differs in %s", tool, strings.Join(all, ", "))
}

// differences lists where two values differ. A placeholder does not differ from any value.
func differences(recorded, now any, at string) (all []string) {
	r, _ := recorded.(map[string]any)
	n, ok := now.(map[string]any)
	if r == nil || !ok {
		if !match(recorded, now) {
			all = append(all, fmt.Sprintf("%s: recorded %s, now %s", at, brief(recorded), brief(now)))
		}
		return all
	}
	names := maps.Clone(r)
	maps.Copy(names, n)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, before := r[name]
		is, after := n[name]
		switch {
		case !after:
			all = append(all, fmt.Sprintf("%s/%s: recorded %s, now absent", at, name, brief(was)))
		case !before:
			all = append(all, fmt.Sprintf("%s/%s: not recorded, now %s", at, name, brief(is)))
		default:
			all = append(all, differences(was, is, at+"/"+name)...)
		}
	}
	return all
}

func brief(v any) string { return trim.Bytes(jsontree.Encode(v), 80) }
