package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/flow/internal/folded"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session has the texts that arguments are compared with: the user's words and the latest results. Results are kept as
// they came, and folded and indexed only when the first value is looked up, so that a session of reads costs little.
type session struct {
	mu        sync.Mutex
	known     bool           // the host passes the user's words
	user      []*folded.Text // what the user wrote, the latest of it
	userRead  map[*folded.Text]*readings
	userBytes int
	groups    []*group
	pending   []*result // that are not yet in a group, the oldest first
	listed    []*group  // lists of definitions, each of one, which sessions share
	seq       int       // of the next call
	results   int       // of calls
	heard     int       // of channels
	bytes     int
	forgot    bool                    // results of it were given up
	endorsed  map[string]Endorsement  // by endorsedKey
	kinds     map[string]argumentKind // of arguments that no schema has, see trace.kind
	counted   int                     // of its bytes, in the tracker's total; guarded by the tracker's lock

	// The value that is looked up, in its forms, in reused memory.
	value, passage folded.Text
	backwards      []byte
	place          []byte
	budget         int // bytes of results that may still be compared for this call
	look           lookup
	shared         *scope // of the call that is traced, whose lock is held as well
	id             int64
}

// A result is what came of one call, as text.
type result struct {
	raw       string
	text      *folded.Text // nil while it is pending
	tool      *middleware.Tool
	call      string
	session   int64 // its id
	seq       int
	tick      int64 // when it came, among those of all sessions
	trusted   bool
	sensitive bool
	passed    bool       // an earlier call wrote it somewhere
	through   *result    // from which the object of its call has something
	key       uint64     // of its call, see callKey
	form      string     // the arguments of its call, if they are short
	args      []argument // in it, see leaves
	channel   string     // the method that carried it, "" for the result of a call
	reads     *readings
}

// add adds a result, which is folded when the first value is looked up, and gives up the oldest beyond the
// limits.
func (s *session) add(r *result, l Limits) {
	s.pending = append(s.pending, r)
	s.number(r, 1)
	s.bytes += len(r.raw) + len(r.form)
	s.fit(l)
}

// number counts a result, or one less.
func (s *session) number(r *result, by int) {
	if r.channel != "" {
		s.heard += by
	} else {
		s.results += by
	}
}

// fit gives up the oldest results beyond the limits.
func (s *session) fit(l Limits) {
	for s.results+s.heard > 1 && (s.results > l.Results || s.heard > l.Results || s.bytes > l.Bytes) {
		s.dropOldest()
	}
}

// settle folds the pending results and puts them in the index.
func (s *session) settle() {
	for _, r := range s.pending {
		r.text = folded.New(r.raw, true)
		if len(s.groups) == 0 || s.groups[len(s.groups)-1].next == len(group{}.results) {
			s.groups = append(s.groups, newGroup())
		}
		s.groups[len(s.groups)-1].add(r)
	}
	s.pending = nil
}

// dropOldest gives up the oldest result. Values from it are then unknown, which forgot records.
func (s *session) dropOldest() {
	s.forgot = true
	var gone *result
	if len(s.groups) == 0 {
		gone, s.pending = s.pending[0], s.pending[1:]
	} else {
		s.groups, gone = dropFirst(s.groups)
	}
	s.number(gone, -1)
	s.bytes -= len(gone.raw) + len(gone.form)
}

// dropFirst removes the oldest result of groups.
func dropFirst(groups []*group) ([]*group, *result) {
	g := groups[0]
	bit := bits.TrailingZeros64(g.used)
	gone := g.results[bit]
	g.remove(bit)
	if g.used == 0 {
		groups = groups[1:]
	}
	return groups, gone
}

// all returns the groups of the session, those of what sessions of its scope passed on, and for a value of an exact kind
// the lists of definitions.
func (s *session) all(kind argumentKind) (all [3][]*group) {
	all[0] = s.groups
	if s.shared != nil {
		all[1] = s.shared.groups
	}
	if len(s.listed) > 0 && kind.exact() {
		all[2] = s.listed
	}
	return all
}

// held returns about how many bytes the session takes, with its index.
func (s *session) held() int {
	n := 0
	for _, g := range s.groups {
		n += 8*len(g.grams) + 2*g.size
	}
	return n + s.bytes
}

// read returns the text of a result, and notes what the result claims of itself. All of it is a source: also what is for
// machines, and an answer that was not understood.
func (r *result) read(res *mcp.CallToolResult, err error) string {
	var parts []string
	if err != nil {
		parts = append(parts, err.Error())
		if reply, ok := errors.AsType[*jsonrpc.Error](err); ok {
			parts = append(parts, texts(reply.Data))
		}
		if answer, ok := errors.AsType[interface {
			error
			Unread() []byte
		}](err); ok {
			parts = append(parts, texts(answer.Unread()))
		}
	}
	if res == nil {
		return strings.Join(parts, partEnd)
	}
	r.claim(res.Meta)
	for _, c := range res.Content {
		var meta mcp.Meta
		switch c := c.(type) {
		case *mcp.TextContent:
			meta = c.Meta
			parts = append(parts, c.Text, annotated(c.Annotations))
		case *mcp.EmbeddedResource:
			meta = c.Meta
			if c.Resource != nil {
				parts = append(parts, c.Resource.URI, c.Resource.Text, c.Resource.MIMEType, string(c.Resource.Blob), other(c.Resource.Meta))
			}
			parts = append(parts, annotated(c.Annotations))
		case *mcp.ResourceLink:
			meta = c.Meta
			parts = append(parts, c.URI, c.Name, c.Title, c.Description, c.MIMEType, annotated(c.Annotations))
			for _, icon := range c.Icons {
				parts = append(parts, icon.Source)
			}
		case *mcp.ImageContent:
			meta = c.Meta
			parts = append(parts, c.MIMEType, annotated(c.Annotations), readable(c.Data))
		case *mcp.AudioContent:
			meta = c.Meta
			parts = append(parts, c.MIMEType, annotated(c.Annotations), readable(c.Data))
		}
		r.claim(meta)
		parts = append(parts, other(meta))
	}
	if res.StructuredContent != nil {
		if raw, err := json.Marshal(res.StructuredContent); err == nil {
			parts = append(parts, string(raw), escaped(raw))
		}
	}
	parts = append(parts, other(res.Meta), res.RequestState)
	if len(res.InputRequests) > 0 {
		if raw, err := json.Marshal(res.InputRequests); err == nil {
			parts = append(parts, texts(raw))
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), partEnd)
}

// partEnd is between the parts of a result, such as its blocks and their _meta. What is quoted around a value does not go
// past it.
const partEnd = "\n\f"

// other returns the texts of a _meta.
func other(meta mcp.Meta) string {
	if len(meta) == 0 || len(meta) == 1 && meta[ClaimKey] != nil {
		return ""
	}
	raw, err := json.Marshal(meta)
	if err != nil {
		return ""
	}
	return texts(raw)
}

// annotated returns the texts of annotations.
func annotated(a *mcp.Annotations) string {
	if a == nil {
		return ""
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return ""
	}
	return texts(raw)
}

// readable returns data that are a text.
func readable(data []byte) string {
	if !utf8.Valid(data) {
		return ""
	}
	return string(data)
}

// escaped returns the texts of JSON that has escapes, whose characters nobody would find in it as it is written.
func escaped(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return ""
	}
	return texts(raw)
}

// texts returns all strings, names and numbers of JSON, a line each, and what is not JSON as it is.
func texts(raw []byte) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var all []string
	for {
		switch token, err := d.Token(); token := token.(type) {
		case string:
			all = append(all, token)
		case json.Number:
			all = append(all, token.String())
		default:
			switch {
			case errors.Is(err, io.EOF):
				return strings.Join(all, "\n")
			case err != nil:
				return string(raw)
			}
		}
	}
}
