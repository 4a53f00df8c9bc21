package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/rawlist"
	"github.com/fairlead-go/fairlead/internal/schema"
	"github.com/fairlead-go/fairlead/internal/toolname"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/redact"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits on one server's list.
const (
	maxPages      = 1000
	maxDefinition = 2 << 20 // bytes of one tool's definition
	maxRefused    = 100     // tools that are named as left out; the others are counted
)

// read reads every page of a server's tools and sorts out what cannot be taken.
func (c *Catalog) read(ctx context.Context, id string, s Session) (*listing, error) {
	l := &listing{id: id, prepared: true, forms: c.pinned}
	seen := make(map[string]bool)
	for cursor := ""; ; {
		watched, raw := rawlist.Watch(ctx)
		page, err := s.ListTools(watched, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, unlisted(id, explain(ctx, err))
		}
		if page == nil {
			return nil, fmt.Errorf("catalog: server %q answered its list of tools with nothing at all", id)
		}
		if l.listed+len(page.Tools) > c.maxTools {
			return nil, fmt.Errorf("catalog: server %q lists more than %d tools; raise catalog.Options.MaxTools if that is right", id, c.maxTools)
		}
		l.page(page, raw)
		cursor = page.NextCursor
		l.bytes += len(cursor) // all of them are kept to the end of the list
		switch {
		case l.bytes > c.maxBytes:
			return nil, fmt.Errorf("catalog: server %q lists more than %d bytes of tools; raise catalog.Options.MaxBytes if that is right", id, c.maxBytes)
		case cursor == "":
			l.done()
			return l, nil
		case seen[cursor]:
			return nil, fmt.Errorf("catalog: server %q lists without end: it gave the cursor %.40q twice", id, cursor)
		case len(seen) == maxPages:
			return nil, fmt.Errorf("catalog: server %q lists more than %d pages of tools", id, maxPages)
		}
		seen[cursor] = true
	}
}

func unlisted(id string, err error) error {
	return fmt.Errorf("catalog: server %q could not list its tools: %w", id, err)
}

// explain says what to do about a list that failed.
func explain(ctx context.Context, err error) error {
	malformed, isMalformed := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case isMalformed: // its text repeats all that came after the fault
		return fmt.Errorf("%s is no %s; connect through mount.Transport, which leaves a malformed tool out", line(errors.New(malformed.Field)), malformed.Type)
	case errors.Is(err, io.EOF), errors.Is(err, mcp.ErrConnectionClosed):
		return fmt.Errorf("%w; the server is gone: connect to it again and add the new session in place of this one", err)
	}
	return err
}

// A definition is one tool of a server's list as the catalogue took it: a copy,
// since the SDK hands out the list that it remembers to everyone who asks.
type definition struct {
	tool               *middleware.Tool // without annotations
	declared, inferred annotation.Annotations
	fault              string // of what it declares, "" for none
	shown              *shown // what the catalogue makes of it; nil where that has to be worked out again
	form               []byte // its canonical form, which the digest is over; nil where there is no lock
}

// A listing is one server's list while it is read.
type listing struct {
	id       string
	prepared bool // every page was seen as the server wrote it
	forms    bool // definitions are kept in their canonical form as well
	ttl      time.Duration
	listed   int // tools, whether they can be taken or not
	bytes    int
	accepted []*definition
	faulty   map[string]int // how often a name is listed among what is refused
	refused  []Finding
	unnamed  int // how many were refused beyond those
}

// page takes in what can be taken, and says of the rest why not.
func (l *listing) page(page *mcp.ListToolsResult, raw *rawlist.Page) {
	ttl := rawlist.Milliseconds(page.TTLMs)
	if raw.Seen() {
		ttl = raw.TTL()
	} else {
		l.prepared = false
	}
	if ttl > 0 && (l.ttl == 0 || ttl < l.ttl) {
		l.ttl = ttl
	}
	if l.accepted == nil { // most lists have one page
		l.accepted = make([]*definition, 0, len(page.Tools))
	}
	faults := raw.Faults(page.Tools)
	for _, f := range faults {
		l.refuse(l.listed+f.Index, f.Name, f.Err)
	}
	for i, def := range page.Tools {
		if def == nil {
			l.refuse(l.listed+i, "", errors.New("it is null"))
			continue
		}
		written := raw.Annotations(def.Name)
		size := measure(def) + len(written)
		l.bytes += size
		d, err := take(l.id, def, size)
		if err != nil {
			l.refuse(l.listed+i, def.Name, err)
			continue
		}
		if l.forms {
			d.form, _ = canonical.AppendTool(nil, def) // it had a digest
		}
		if raw.Seen() {
			d.declared, err = annotation.FromRaw(d.tool.Definition, written)
		} else {
			d.declared, err = annotation.FromTool(d.tool.Definition)
		}
		if err != nil {
			d.fault = line(err)
		}
		l.accepted = append(l.accepted, d)
	}
	l.listed += len(page.Tools) + len(faults)
}

func (l *listing) refuse(i int, name string, err error) {
	if l.faulty == nil {
		l.faulty = make(map[string]int)
	}
	if l.faulty[name]++; l.faulty[name] == 1 {
		l.bytes += len(name)
	}
	if len(l.refused) == maxRefused {
		l.unnamed++
		return
	}
	kind := FindingLeftOut
	if _, bad := errors.AsType[*schemaError](err); bad {
		kind = FindingSchema
	}
	l.refused = append(l.refused, Finding{Server: l.id, Kind: kind, Text: fmt.Sprintf("%s was left out: %s", named(i, name), line(err))})
}

// done ends a list.
func (l *listing) done() {
	slices.SortFunc(l.accepted, func(a, b *definition) int { return strings.Compare(a.tool.Name(), b.tool.Name()) })
	l.dropTwins()
	if l.unnamed > 0 {
		l.refused = append(l.refused, Finding{Server: l.id, Kind: FindingLeftOut, Text: fmt.Sprintf("%d more tools were left out", l.unnamed)})
	}
	// All together, since a prefix that they share says nothing.
	words := make([]*mcp.Tool, len(l.accepted))
	for i, d := range l.accepted {
		words[i] = d.tool.Definition
	}
	for i, inferred := range infer.Tools(words) {
		l.accepted[i].inferred = inferred
	}
}

// dropTwins takes out what has the name of another: of two tools with one name
// neither is taken, since nobody could say which is meant.
func (l *listing) dropTwins() {
	kept := l.accepted[:0]
	for i := 0; i < len(l.accepted); {
		d, n := l.accepted[i], 1
		name := d.tool.Name()
		for i+n < len(l.accepted) && l.accepted[i+n].tool.Name() == name {
			n++
		}
		i += n
		if n += l.faulty[name]; n > 1 {
			l.refused = append(l.refused, Finding{Server: l.id, Tool: name, Kind: FindingLeftOut, Text: fmt.Sprintf("left out: the server lists %d tools of this name", n)})
			continue
		}
		kept = append(kept, d)
	}
	clear(l.accepted[len(kept):])
	l.accepted = kept
}

// named names a tool whose name may be anything at all.
func named(i int, name string) string {
	if name == "" {
		return fmt.Sprintf("tool number %d", i)
	}
	return strconv.QuoteToASCII(cut(name, 64))
}

// line returns the text of an error on one line, safe to show.
func line(err error) string {
	return safetext.Line(cut(strings.ReplaceAll(new(redact.Redactor).Text(err.Error()), "\n", "; "), 300))
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

// measure returns about how many bytes a definition has as JSON, without writing it.
func measure(def *mcp.Tool) int {
	n := len(def.Name) + len(def.Title) + len(def.Description) + schema.Size(map[string]any(def.Meta)) +
		schema.Size(def.InputSchema) + schema.Size(def.OutputSchema) + len(`{"name":"","inputSchema":}`)
	if def.Annotations != nil {
		n += len(def.Annotations.Title)
	}
	for _, icon := range def.Icons {
		n += len(icon.Source) + len(icon.MIMEType) + len(icon.Theme)
		for _, size := range icon.Sizes {
			n += len(size) + len(`"",`)
		}
	}
	return n
}

// cause takes the name of the tool off what NewTool says.
func cause(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// A schemaError says that a schema keeps its tool from being taken.
type schemaError struct {
	which string
	err   error
}

func (e *schemaError) Error() string {
	return "its " + e.which + " schema is not usable: " + e.err.Error()
}
func (e *schemaError) Unwrap() error { return e.err }

// take copies what can be taken, and says what keeps the rest from it.
func take(id string, def *mcp.Tool, size int) (*definition, error) {
	if err := toolname.Check(def.Name); err != nil {
		return nil, err
	}
	if size > maxDefinition {
		return nil, fmt.Errorf("its definition has %d bytes, more than %d", size, maxDefinition)
	}
	tool, err := middleware.NewTool(id, def, annotation.Annotations{})
	if err != nil {
		return nil, fmt.Errorf("it cannot be written as JSON: %w", cause(err))
	}
	if err := schema.CheckInput(tool.Definition.InputSchema); err != nil {
		return nil, &schemaError{"input", err}
	}
	if tool.Definition.OutputSchema != nil {
		if err := schema.Check(tool.Definition.OutputSchema); err != nil {
			return nil, &schemaError{"output", err}
		}
	}
	return &definition{tool: tool}, nil
}
