// Package rawlist carries an answer to tools/list past the SDK, whose types cannot
// tell an absent hint from a false one, and which fails the whole list over one
// malformed tool. Who asks hands a [Page] along in the context; the transport that
// brings the answer shows it to the page before the SDK sees it.
package rawlist

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Page is one answer to tools/list as the server wrote it.
type Page struct {
	mu          sync.Mutex
	seen        bool
	ttl         int
	annotations map[string]json.RawMessage
	faults      []Fault
}

// A Fault is a tool that the SDK cannot read.
type Fault struct {
	Index int    // among the tools of the page
	Name  string // "" where it has none
	Err   error
}

type pageKey struct{}

// Watch returns a context for one request, and the page of its answer.
func Watch(ctx context.Context) (context.Context, *Page) {
	p := new(Page)
	return context.WithValue(ctx, pageKey{}, p), p
}

// From returns the page of a request, nil where nobody waits for it.
func From(ctx context.Context) *Page {
	p, _ := ctx.Value(pageKey{}).(*Page)
	return p
}

// Seen reports whether a transport showed the answer to the page. One that has not
// is not prepared, or the SDK answered from its memory.
func (p *Page) Seen() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// TTL returns how long the server wants the list to be taken for fresh.
func (p *Page) TTL() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Milliseconds(p.ttl)
}

// Milliseconds returns a duration, 0 for what is none.
func Milliseconds(ms int) time.Duration {
	const most = 24 * time.Hour
	return time.Duration(min(max(ms, 0), int(most/time.Millisecond))) * time.Millisecond
}

// Annotations returns what the server wrote under annotations of the tool, nil
// where it wrote none.
func (p *Page) Annotations(tool string) json.RawMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.annotations[tool]
}

// Faults returns the tools that were kept from the SDK.
func (p *Page) Faults() []Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults
}

// Take notes an answer and returns what the SDK is to see of it: the tools that it
// can read, and no ttlMs, so that it does not answer the next request from memory.
// An answer of another shape passes as it is.
func (p *Page) Take(result json.RawMessage) json.RawMessage {
	var list map[string]json.RawMessage
	if json.Unmarshal(result, &list) != nil {
		return result
	}
	var tools []json.RawMessage
	if raw, ok := list["tools"]; !ok || json.Unmarshal(raw, &tools) != nil {
		return result
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen, p.ttl, p.faults, p.annotations = true, 0, nil, make(map[string]json.RawMessage)
	changed := false
	if raw, ok := list["ttlMs"]; ok {
		if json.Unmarshal(raw, &p.ttl) != nil {
			p.ttl = 0
		}
		changed = string(raw) != "0"
		list["ttlMs"] = json.RawMessage("0")
	}
	readable := tools[:0:len(tools)]
	for i, raw := range tools {
		name, annotations, err := read(raw)
		if err != nil {
			p.faults = append(p.faults, Fault{Index: i, Name: name, Err: err})
			changed = true
			continue
		}
		if annotations != nil {
			p.annotations[name] = annotations
		}
		readable = append(readable, raw)
	}
	if !changed {
		return result
	}
	out, err := write(list, readable)
	if err != nil {
		return result
	}
	return out
}

func write(list map[string]json.RawMessage, tools []json.RawMessage) (json.RawMessage, error) {
	all, err := json.Marshal(tools)
	if err != nil {
		return nil, err
	}
	list["tools"] = all
	return json.Marshal(list)
}

// read says what keeps the SDK from reading a tool. It looks at the members by
// their exact names, as the SDK does.
func read(raw json.RawMessage) (name string, annotations json.RawMessage, err error) {
	if isNull(raw) {
		return "", nil, errors.New("it is null")
	}
	var tool map[string]json.RawMessage
	if err := json.Unmarshal(raw, &tool); err != nil {
		return "", nil, fmt.Errorf("it is no object: %.40s", raw)
	}
	if err := isA[string](tool, "name", "text"); err != nil {
		return "", nil, err
	}
	_ = json.Unmarshal(tool["name"], &name) // absent is ""
	for _, err := range []error{
		isA[string](tool, "title", "text"),
		isA[string](tool, "description", "text"),
		isA[map[string]json.RawMessage](tool, "_meta", "object"),
		isA[[]mcp.Icon](tool, "icons", "list of icons"),
		isA[map[string]json.RawMessage](tool, "annotations", "object"),
	} {
		if err != nil {
			return name, nil, err
		}
	}
	annotations = tool["annotations"]
	if annotations == nil || isNull(annotations) {
		return name, nil, nil
	}
	var hints map[string]json.RawMessage
	_ = json.Unmarshal(annotations, &hints) // it is an object
	for _, err := range []error{
		isA[string](hints, "title", "text"),
		isA[bool](hints, "readOnlyHint", "boolean"),
		isA[bool](hints, "destructiveHint", "boolean"),
		isA[bool](hints, "idempotentHint", "boolean"),
		isA[bool](hints, "openWorldHint", "boolean"),
	} {
		if err != nil {
			return name, nil, fmt.Errorf("among its annotations %w", err)
		}
	}
	return name, annotations, nil
}

// isA says what is wrong with a member that is there and of another type.
func isA[T any](object map[string]json.RawMessage, member, want string) error {
	raw, ok := object[member]
	if !ok {
		return nil
	}
	var v T
	if json.Unmarshal(raw, &v) != nil {
		return fmt.Errorf("%s is %.40s and no %s", member, raw, want)
	}
	return nil
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }
