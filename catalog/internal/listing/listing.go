// Package listing reads the tools that a server lists, within limits, and leaves out what cannot be taken.
package listing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/bounded"
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

// A Session lists tools.
type Session interface {
	ListTools(ctx context.Context, params *mcp.ListToolsParams) (*mcp.ListToolsResult, error)
}

// Limits bound one list.
type Limits struct {
	Timeout            time.Duration
	MaxTools, MaxBytes int
	Forms              bool // definitions are kept in their canonical form as well
}

// A Definition is one tool of a list, a copy, since the SDK returns the list that it caches.
type Definition struct {
	Tool               *middleware.Tool // without annotations
	Declared, Inferred annotation.Annotations
	Fault              string // of what it declares, "" for none
	Form               []byte // its canonical form, which the digest is over, if Limits.Forms
}

// A Listing is what one server lists.
type Listing struct {
	Tools    []*Definition // by name
	LeftOut  []finding.Finding
	Prepared bool          // every page was seen as the server wrote it
	TTL      time.Duration // 0 if the server does not say

	id      string
	forms   bool
	listed  int // tools, whether they can be taken or not
	bytes   int
	named   map[string]int // how often a name is listed, at first among what is refused
	unnamed int            // how many were refused beyond those in LeftOut
}

func (r *Reader) read(ctx context.Context) (*Listing, error) {
	l := &Listing{id: r.id, forms: r.limits.Forms, Prepared: true, named: make(map[string]int)}
	seen := make(map[string]bool)
	for cursor := ""; ; {
		watched, raw := rawlist.Watch(ctx)
		page, err := r.session.ListTools(watched, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, r.unlisted(explain(ctx, err))
		}
		if page == nil {
			return nil, r.fault("answered its list of tools with nothing at all")
		}
		if l.listed+len(page.Tools) > r.limits.MaxTools {
			return nil, r.fault("lists more than %d tools; raise catalog.Options.MaxTools if that is right", r.limits.MaxTools)
		}
		l.page(page, raw)
		cursor = page.NextCursor
		l.bytes += len(cursor) // all of them are kept to the end of the list
		switch {
		case l.bytes > r.limits.MaxBytes:
			return nil, r.fault("lists more than %d bytes of tools; raise catalog.Options.MaxBytes if that is right", r.limits.MaxBytes)
		case cursor == "":
			l.done()
			return l, nil
		case seen[cursor]:
			return nil, r.fault("lists without end: it gave the cursor %.40q twice", cursor)
		case len(seen) == maxPages:
			return nil, r.fault("lists more than %d pages of tools", maxPages)
		}
		seen[cursor] = true
	}
}

func (r *Reader) unlisted(err error) error { return r.fault("could not list its tools: %w", err) }

func (r *Reader) fault(format string, args ...any) error {
	return &listError{fmt.Errorf("catalog: server %q %w", r.id, fmt.Errorf(format, args...))}
}

type listError struct{ error }

func (e *listError) Unwrap() error { return e.error }

func explain(ctx context.Context, err error) error {
	malformed, isMalformed := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case isMalformed: // its text repeats all that came after the fault
		return fmt.Errorf("%s is not a %s; connect through mount.Transport, which leaves a malformed tool out", Line(errors.New(malformed.Field)), malformed.Type)
	case strings.Contains(err.Error(), "nesting depth"), strings.Contains(err.Error(), "max depth"): // of the SDK and of encoding/json, which have no type for it
		return fmt.Errorf("%w; connect through mount.Transport, which leaves a tool with such a schema out", err)
	case errors.Is(err, io.EOF), errors.Is(err, mcp.ErrConnectionClosed):
		return fmt.Errorf("%w; the server is gone: connect to it again and add the new session in place of this one", err)
	}
	return err
}

func (l *Listing) page(page *mcp.ListToolsResult, raw *rawlist.Page) {
	ttl := rawlist.Milliseconds(page.TTLMs)
	if raw.Seen() {
		ttl = raw.TTL()
	} else {
		l.Prepared = false
	}
	if ttl > 0 && (l.TTL == 0 || ttl < l.TTL) {
		l.TTL = ttl
	}
	if l.Tools == nil { // most lists have one page
		l.Tools = make([]*Definition, 0, len(page.Tools))
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
		if l.forms { // of the copy it would be another one, whose numbers are float64
			d.Form, _ = canonical.AppendTool(nil, def) // it had a digest
		}
		if raw.Seen() {
			d.Declared, err = annotation.FromRaw(d.Tool.Definition, written)
		} else {
			d.Declared, err = annotation.FromTool(d.Tool.Definition)
		}
		if err != nil {
			d.Fault = Line(err)
		}
		l.Tools = append(l.Tools, d)
	}
	l.listed += len(page.Tools) + len(faults)
}

func (l *Listing) refuse(i int, name string, err error) {
	if l.named[name]++; l.named[name] == 1 {
		l.bytes += len(name)
	}
	if len(l.LeftOut) == maxRefused {
		l.unnamed++
		return
	}
	kind := finding.LeftOut
	if _, bad := errors.AsType[schemaError](err); bad {
		kind = finding.Schema
	}
	l.LeftOut = append(l.LeftOut, finding.Finding{Server: l.id, Kind: kind, Text: fmt.Sprintf("%s was left out: %s", named(i, name), Line(err))})
}

func (l *Listing) done() {
	slices.SortFunc(l.Tools, func(a, b *Definition) int { return strings.Compare(a.Tool.Name(), b.Tool.Name()) })
	l.dropTwins()
	if l.unnamed > 0 {
		l.LeftOut = append(l.LeftOut, finding.Finding{Server: l.id, Kind: finding.LeftOut, Text: fmt.Sprintf("%d more tools were left out", l.unnamed)})
	}
	// All together, since a shared prefix does not distinguish them.
	words := make([]*mcp.Tool, len(l.Tools))
	for i, d := range l.Tools {
		words[i] = d.Tool.Definition
	}
	for i, inferred := range infer.Tools(words) {
		l.Tools[i].Inferred = inferred
	}
}

// dropTwins removes all tools that share a name, since a call of it would be ambiguous.
func (l *Listing) dropTwins() {
	for _, d := range l.Tools {
		l.named[d.Tool.Name()]++
	}
	left := ""
	l.Tools = slices.DeleteFunc(l.Tools, func(d *Definition) bool {
		name := d.Tool.Name()
		n := l.named[name]
		if n > 1 && name != left { // once for all of them
			left = name
			l.LeftOut = append(l.LeftOut, finding.Finding{Server: l.id, Tool: name, Kind: finding.LeftOut, Text: fmt.Sprintf("left out: the server lists %d tools of this name", n)})
		}
		return n > 1
	})
}

// Check returns the faults in the host's own tools. In those of a server they are findings.
func Check(tools []*mcp.Tool) error {
	var errs []error
	seen := make(map[string]bool, len(tools))
	for i, t := range tools {
		if t == nil {
			errs = append(errs, fmt.Errorf("number %d is nil", i))
			continue
		}
		if seen[t.Name] {
			errs = append(errs, fmt.Errorf("%q is there twice", t.Name))
		}
		seen[t.Name] = true
		who := Which(i, t.Name)
		if w := t.Annotations; w != nil && w.ReadOnlyHint && w.DestructiveHint != nil && *w.DestructiveHint {
			errs = append(errs, fmt.Errorf("%s: readOnlyHint and destructiveHint are both true: a tool that changes nothing cannot destroy", who))
		}
		if _, err := annotation.FromTool(t); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", who, err))
		}
		if _, err := take("", t, measure(t)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", who, err))
		}
	}
	return errors.Join(errs...)
}

// Which names a tool of the host's, which may have left the name out.
func Which(i int, name string) string {
	if name == "" {
		return named(i, name)
	}
	return name
}

// named names a tool whose name may be anything at all.
func named(i int, name string) string {
	if name == "" {
		return fmt.Sprintf("tool number %d", i)
	}
	return strconv.QuoteToASCII(cut(name, 64))
}

// Line returns the text of an error on one line, safe to show.
func Line(err error) string {
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

type schemaError struct{ error }

func (e schemaError) Unwrap() error { return e.error }

func take(id string, def *mcp.Tool, size int) (*Definition, error) {
	if err := toolname.Check(def.Name); err != nil {
		return nil, err
	}
	if size > maxDefinition {
		return nil, fmt.Errorf("its definition has %d bytes, more than %d", size, maxDefinition)
	}
	tool, err := middleware.NewTool(id, def, annotation.Annotations{})
	if err != nil {
		return nil, fmt.Errorf("it cannot be written as JSON: %w", cmp.Or(errors.Unwrap(err), err)) // without the name of the tool
	}
	if err := schema.CheckInput(tool.Definition.InputSchema); err != nil {
		return nil, schemaError{fmt.Errorf("its input schema is not usable: %w", err)}
	}
	if tool.Definition.OutputSchema != nil {
		if err := schema.Check(tool.Definition.OutputSchema); err != nil {
			return nil, schemaError{fmt.Errorf("its output schema is not usable: %w", err)}
		}
	}
	return &Definition{Tool: tool}, nil
}

// A Reader lists the tools of one session. It is safe for concurrent use. Since a session of the SDK may hang
// in a write, whatever its context, a list is given up without it, and beside four of those none is begun.
type Reader struct {
	id      string
	session Session
	limits  Limits
	bound   bounded.Bound
}

// NewReader returns a reader for the server with the id.
func NewReader(id string, s Session, l Limits, log *slog.Logger) *Reader {
	return &Reader{id: id, session: s, limits: l, bound: bounded.Bound{
		Limit: math.MaxInt64, Most: 4, Name: "catalog: the list of " + id, Logger: log, Late: new(atomic.Uint64),
	}}
}

// Read lists the tools, and returns in time whatever the session does.
func (r *Reader) Read(ctx context.Context) (*Listing, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.limits.Timeout,
		fmt.Errorf("no answer within %v; see whether it works, or raise catalog.Options.Timeout", r.limits.Timeout))
	defer cancel()
	l, err := bounded.Do(ctx, &r.bound, r.read, nil)
	if _, ok := errors.AsType[*listError](err); err == nil || ok {
		return l, err
	}
	return nil, r.unlisted(cmp.Or(context.Cause(ctx), err))
}

// Lost returns the features that an SDK session lacks because it was not prepared before it connected, "" for none:
// lists as the server wrote them, and notices of changes.
func Lost(s Session, prepared, notices bool) string {
	cs, ok := s.(*mcp.ClientSession)
	if !ok {
		return ""
	}
	var lost []string
	if !prepared {
		lost = append(lost, "a hint that is absent cannot be told from one that is false, and one malformed tool fails the whole list: connect through mount.Transport")
	}
	if about := cs.InitializeResult(); !notices && about != nil && about.Capabilities != nil && about.Capabilities.Tools != nil && about.Capabilities.Tools.ListChanged {
		lost = append(lost, "it announces changes of its tools, which are not received: make the client with mount.Options")
	}
	if len(lost) == 0 {
		return ""
	}
	return "its session was not prepared; " + strings.Join(lost, "; ")
}
