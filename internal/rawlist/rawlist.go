// Package rawlist carries an answer to tools/list past the SDK, which takes an absent hint for a false one and
// fails the whole list over one malformed tool. The transport puts it into the [Page] in the context.
package rawlist

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Page is one answer to tools/list as the server wrote it. It is safe for concurrent use.
type Page struct {
	Log func(lines int, text string) // is called with each line that is left out from now on; nil is not

	taken atomic.Pointer[answer]
	stray atomic.Pointer[strayLines]
}

// strayLines are the lines that a server wrote to its standard output beside messages.
type strayLines struct {
	n     int
	first string
}

// An answer is what a page keeps of what the server wrote.
type answer struct {
	ttl         time.Duration
	annotations map[string]json.RawMessage
	long        map[string]json.RawMessage // by name, the tools with a number that a float64 would write in another way
	tools       []Fault                    // all of them; Err is nil for one that the SDK can read
	err         error                      // why the list is not read
}

// A Fault is a tool that the SDK cannot read, or does not take.
type Fault struct {
	Index int    // among the tools of the page
	Name  string // "" where it has none
	Err   error
}

type pageKey struct{}

// Watch returns a context for one request, and the page of its answer. Its field Log is log.
func Watch(ctx context.Context, log func(lines int, text string)) (context.Context, *Page) {
	p := &Page{Log: log}
	return context.WithValue(ctx, pageKey{}, p), p
}

// From returns the page of a request, nil if no call waits for it.
func From(ctx context.Context) *Page {
	p, _ := ctx.Value(pageKey{}).(*Page)
	return p
}

func (p *Page) answer() answer {
	if a := p.taken.Load(); a != nil {
		return *a
	}
	return answer{}
}

// Seen reports whether a transport passed the answer to the page; it does not if the SDK answered from its cache.
func (p *Page) Seen() bool { return p.taken.Load() != nil }

// LeftOut notes how many lines of the server were left out until its answer, and the first of them.
func (p *Page) LeftOut(n int, first string) {
	if p != nil && n > 0 {
		p.stray.Store(&strayLines{n, first})
	}
}

// Stray returns what LeftOut noted.
func (p *Page) Stray() (n int, first string) {
	if s := p.stray.Load(); s != nil {
		return s.n, s.first
	}
	return 0, ""
}

// Err returns why the list as a whole was not read, such as a second member named tools; nil if it was.
func (p *Page) Err() error { return p.answer().err }

// TTL returns how long the server wants the list to be taken for fresh.
func (p *Page) TTL() time.Duration { return p.answer().ttl }

// Milliseconds returns a duration, 0 for an invalid one.
func Milliseconds(ms int) time.Duration {
	const most = 24 * time.Hour
	return time.Duration(min(max(ms, 0), int(most/time.Millisecond))) * time.Millisecond
}

// Annotations returns what the server wrote under annotations of the tool, nil where it wrote none.
func (p *Page) Annotations(tool string) json.RawMessage { return p.answer().annotations[tool] }

// Exact returns a tool with the digits that the server wrote, see [KeepDigits]: the tool itself where none are lost, else
// a copy, since the SDK may keep the tool.
func (p *Page) Exact(tool *mcp.Tool) *mcp.Tool {
	raw, ok := p.answer().long[tool.Name]
	if !ok {
		return tool
	}
	exact := *tool
	KeepDigits(&exact, raw)
	return &exact
}

// KeepDigits gives the schemas and the _meta of a tool that was decoded from raw the numbers that a float64 cannot hold,
// as a [json.Number]. The others stay, in whatever form they were written, so that most definitions have the digest that
// they have without it.
func KeepDigits(tool *mcp.Tool, raw []byte) {
	if !jsontree.Rounded(raw) {
		return
	}
	var parts struct {
		Input  json.RawMessage `json:"inputSchema"`
		Output json.RawMessage `json:"outputSchema"`
		Meta   json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return
	}
	if text, err := jsontree.Decode(parts.Input); err == nil {
		tool.InputSchema = jsontree.Restore(tool.InputSchema, text)
	}
	if text, err := jsontree.Decode(parts.Output); err == nil {
		tool.OutputSchema = jsontree.Restore(tool.OutputSchema, text)
	}
	if text, err := jsontree.Decode(parts.Meta); err == nil && tool.Meta != nil {
		tool.Meta, _ = jsontree.Restore(map[string]any(tool.Meta), text).(map[string]any)
	}
}

// Faults returns the tools that were kept from the SDK, and those that it left out itself of what it handed on.
func (p *Page) Faults(handedOn []*mcp.Tool) []Fault {
	there := make(map[string]int, len(handedOn)) // a middleware of the host's may sort them
	for _, tool := range handedOn {
		if tool != nil {
			there[tool.Name]++
		}
	}
	var faults []Fault
	for _, f := range p.answer().tools {
		if f.Err == nil {
			if there[f.Name]--; there[f.Name] >= 0 {
				continue
			}
			f.Err = errors.New("the SDK does not take it, as one whose x-mcp-header annotations are not usable")
		}
		faults = append(faults, f)
	}
	return faults
}

// Take keeps an answer and returns what the SDK gets of it: the tools that it can read, and no ttlMs, so that
// it does not answer the next request from its cache. An answer of another shape is not changed. Of one that is
// not read the SDK gets no tools, and [Page.Err] reports why. With a nil page, only ttlMs is changed.
func (p *Page) Take(result json.RawMessage) json.RawMessage {
	if p != nil && json.Valid(result) {
		if err := readList(result); err != nil {
			p.taken.Store(&answer{err: err})
			return json.RawMessage(`{"tools":[]}`)
		}
	}
	var list map[string]json.RawMessage
	var tools []json.RawMessage
	if json.Unmarshal(result, &list) != nil || p != nil && json.Unmarshal(list["tools"], &tools) != nil {
		return result
	}
	ttl, ok := list["ttlMs"]
	changed := ok && string(ttl) != "0"
	if changed {
		list["ttlMs"] = json.RawMessage("0")
	}
	if p != nil {
		if readable := p.note(tools, ttl); len(readable) < len(tools) {
			list["tools"], _ = json.Marshal(readable) //nolint:errchkjson // it was JSON
			changed = true
		}
	}
	if !changed {
		return result
	}
	out, err := json.Marshal(list)
	if err != nil {
		return result
	}
	return out
}

// readList returns why a list is not read as a whole, nil if it is: it can be read in two ways, or a member of it has
// another type. Its tools are read one by one.
func readList(result json.RawMessage) error {
	const twice = "it can be read as two lists: "
	if err := strictjson.Top(result, ofList...); err != nil {
		return fmt.Errorf(twice+"%w", err)
	}
	list, ok := strictjson.Members(result)
	if !ok {
		return fmt.Errorf("it is %.40s, want an object", result)
	}
	there := false
	for _, m := range list {
		if k, known := ofPage[m.Name]; known {
			if err := k.check(m); err != nil {
				return err
			}
		}
		if there = there || m.Name == "tools"; m.Name == "tools" {
			continue
		}
		if err := strictjson.Once(m.Value); err != nil {
			return fmt.Errorf(twice+"in its %.80q %w", m.Name, err)
		}
	}
	if !there {
		return errors.New("it has no member tools")
	}
	return nil
}

// note keeps the answer and returns the tools that the SDK can read.
func (p *Page) note(tools []json.RawMessage, ttl json.RawMessage) []json.RawMessage {
	a := &answer{annotations: make(map[string]json.RawMessage), long: make(map[string]json.RawMessage), tools: make([]Fault, len(tools))}
	defer p.taken.Store(a)
	var ms int
	if json.Unmarshal(ttl, &ms) == nil {
		a.ttl = Milliseconds(ms)
	}
	readable := tools[:0:len(tools)]
	for i, raw := range tools {
		name, annotations, err := read(raw)
		a.tools[i] = Fault{Index: i, Name: name, Err: err}
		if err != nil {
			continue
		}
		if annotations != nil {
			a.annotations[name] = annotations
		}
		if jsontree.Rounded(raw) {
			a.long[name] = raw
		}
		readable = append(readable, raw)
	}
	return readable
}

// read reports what keeps the SDK from reading a tool, such as a member that is there twice.
func read(raw json.RawMessage) (name string, annotations json.RawMessage, err error) {
	if string(raw) == "null" {
		return "", nil, errors.New("it is null")
	}
	tool, ok := strictjson.Members(raw)
	if !ok {
		return "", nil, fmt.Errorf("want an object, got %.40s", raw)
	}
	seen := make(map[string]json.RawMessage, len(tool))
	for _, m := range tool {
		if k, known := ofTool[m.Name]; known && err == nil {
			err = k.check(m)
		}
		seen[m.Name] = m.Value
	}
	hints, ok := strictjson.Members(seen["annotations"]) // not ok: absent or null
	if err == nil && ok {
		err = readHints(seen["annotations"], hints)
	}
	err = cmp.Or(err, unambiguous(raw))
	_ = json.Unmarshal(seen["name"], &name) // "" if absent or invalid
	if err != nil {
		return name, nil, err
	}
	if !ok {
		return name, nil, nil
	}
	return name, seen["annotations"], nil
}

// readHints reports what keeps the SDK from reading annotations.
func readHints(raw json.RawMessage, hints []strictjson.Member) error {
	for _, m := range hints {
		if k, known := ofAnnotations[m.Name]; known {
			if err := k.check(m); err != nil {
				return fmt.Errorf("among its annotations %w", err)
			}
		}
	}
	if err := strictjson.Top(raw, namesOf(ofAnnotations)...); err != nil {
		return fmt.Errorf("among its annotations %w", err)
	}
	return nil
}

// unambiguous returns an error for a tool that two readers could take for different ones: by a member that is there
// twice, at any depth, or in another case, or by a text that is not in UTF-8.
func unambiguous(tool json.RawMessage) error {
	if !utf8.Valid(tool) {
		return errors.New("its text is not valid UTF-8")
	}
	return strictjson.Once(tool, namesOf(ofTool)...)
}

// namesOf returns the names of the members that are known.
func namesOf(kinds map[string]kind) []string { return slices.Collect(maps.Keys(kinds)) }

// ofList are the members of a list of tools that the protocol names, and what a message has its list in, see package answers.
var ofList = []string{"result", "tools", "nextCursor", "_meta", "ttlMs", "cacheScope", "resultType"}

// A kind is a type that the SDK reads a member as.
type kind struct {
	reads func(json.RawMessage) bool
	what  string
}

var (
	ofPage = map[string]kind{
		"tools":      {is[[]json.RawMessage], "a list"},
		"nextCursor": {is[string], "a string"},
		"_meta":      {is[map[string]any], "an object without a number that is out of range"},
		"cacheScope": {is[string], "a string"},
		"resultType": {isComplete, `"complete"`},
	}
	ofTool = map[string]kind{
		"name":         {is[string], "a string"},
		"title":        {is[string], "a string"},
		"description":  {is[string], "a string"},
		"icons":        {is[[]mcp.Icon], "a list of icons"},
		"annotations":  {is[map[string]json.RawMessage], "an object"},
		"_meta":        {is[map[string]any], "an object without a number that is out of range"},
		"execution":    {is[map[string]json.RawMessage], "an object"},
		"inputSchema":  {is[any], "a schema without a number that is out of range"},
		"outputSchema": {is[any], "a schema without a number that is out of range"},
	}
	ofAnnotations = map[string]kind{
		"title":           {is[string], "a string"},
		"readOnlyHint":    {is[bool], "a boolean"},
		"destructiveHint": {is[bool], "a boolean"},
		"idempotentHint":  {is[bool], "a boolean"},
		"openWorldHint":   {is[bool], "a boolean"},
	}
)

func is[T any](raw json.RawMessage) bool {
	var v T
	return json.Unmarshal(raw, &v) == nil
}

// isComplete reports whether a result of this type is a list, and not a question or a task.
func isComplete(raw json.RawMessage) bool {
	var v string
	return json.Unmarshal(raw, &v) == nil && (v == "" || v == "complete")
}

func (k kind) check(m strictjson.Member) error {
	if k.reads(m.Value) {
		return nil
	}
	return fmt.Errorf("%s is %.40s, want %s", m.Name, m.Value, k.what)
}
