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
	"strings"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/internal/bounded"
	"github.com/fairlead-go/fairlead/internal/rawlist"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
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

// A Reader lists the tools of one session. It is safe for concurrent use. Since a session of the SDK may hang
// in a write, whatever its context, a list is given up without it, and beside four of those none is begun.
type Reader struct {
	id      string
	session Session
	limits  Limits
	bound   bounded.Bound
	log     *slog.Logger
}

// NewReader returns a reader for the server with the id.
func NewReader(id string, s Session, l Limits, log *slog.Logger) *Reader {
	return &Reader{id: id, session: s, limits: l, log: log, bound: bounded.Bound{
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

// read reads the pages of one list. A server could make it endless, by a cursor that it repeats or by ever new ones:
// tools, bytes and pages are bounded, over all pages together.
func (r *Reader) read(ctx context.Context) (*Listing, error) {
	l := &Listing{id: r.id, forms: r.limits.Forms, Prepared: true, named: make(map[string]int)}
	if !offersTools(r.session) {
		l.done()
		return l, nil
	}
	seen := make(map[string]bool)
	for cursor := ""; ; {
		watched, raw := rawlist.Watch(ctx, r.leftOut)
		page, err := r.session.ListTools(watched, &mcp.ListToolsParams{Cursor: cursor})
		if refused, ok := errors.AsType[*jsonrpc.Error](err); ok && refused.Code == jsonrpc.CodeMethodNotFound && cursor == "" && !declares(r.session) {
			l.done()
			return l, nil
		}
		if err != nil {
			return nil, r.unlisted(explain(ctx, err))
		}
		if page == nil {
			return nil, r.fault("answered its list of tools with nothing at all")
		}
		if err := raw.Err(); err != nil {
			return nil, r.fault("lists its tools in a way that is not read: %w", err)
		}
		if l.listed+len(page.Tools) > r.limits.MaxTools {
			return nil, r.fault("lists more than %d tools; raise catalog.Options.MaxTools if that is right", r.limits.MaxTools)
		}
		endless := page.NextCursor != "" && seen[page.NextCursor]
		if !endless || !l.hasAll(page) { // a server that ignores cursors lists the same page again
			l.page(page, raw)
		}
		l.beside(raw.Stray())
		cursor = page.NextCursor
		l.bytes += len(cursor) // all of them are kept to the end of the list
		switch {
		case l.bytes > r.limits.MaxBytes:
			return nil, r.fault("lists more than %d bytes of tools; raise catalog.Options.MaxBytes if that is right", r.limits.MaxBytes)
		case cursor == "":
			l.done()
			return l, nil
		case endless:
			l.cut(fmt.Sprintf("it lists without end, since it gave the cursor %.40q twice; what it had listed until then counts", cursor))
			l.done()
			return l, nil
		case len(seen) == maxPages:
			return nil, r.fault("lists more than %d pages of tools", maxPages)
		}
		seen[cursor] = true
	}
}

// leftOut logs a line that the server wrote beside its messages.
func (r *Reader) leftOut(lines int, text string) {
	if r.log != nil {
		r.log.Warn("catalog: the server wrote something to its standard output that is not a message; it was left out",
			slog.String("server", r.id), slog.Int("lines", lines), slog.String("text", text))
	}
}

// offersTools reports whether a server may have tools. One that has shaken hands and declared no tools is not asked.
func offersTools(s Session) bool {
	cs, ok := s.(*mcp.ClientSession)
	if !ok {
		return true
	}
	about := cs.InitializeResult()
	return about == nil || about.Capabilities == nil || about.Capabilities.Tools != nil
}

// declares reports whether it is known what a server declares; where it is not, a server without the method has no tools.
func declares(s Session) bool {
	cs, ok := s.(*mcp.ClientSession)
	return ok && cs.InitializeResult() != nil && cs.InitializeResult().Capabilities != nil
}

func (r *Reader) unlisted(err error) error { return r.fault("could not list its tools: %w", err) }

func (r *Reader) fault(format string, args ...any) error {
	return &listError{fmt.Errorf("catalog: server %q %w", r.id, fmt.Errorf(format, args...))}
}

// A listError has all that there is to say; other errors get the name of the server.
type listError struct{ error }

func (e *listError) Unwrap() error { return e.error }

// explain returns the error of a session with the next step.
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
