package flow

import (
	"encoding/json"
	"math/bits"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/flow/internal/folded"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session has the texts that arguments are compared with: the user's words and the latest results. Results are kept as
// they came, and folded and indexed only when the first value is looked up, so that a session of reads costs little.
type session struct {
	mu        sync.Mutex
	known     bool           // the host passes the user's words
	user      []*folded.Text // what the user wrote, the latest of it
	userBytes int
	groups    []*group
	pending   []*result // that are not yet in a group, the oldest first
	seq       int       // of the next call
	results   int
	bytes     int
	forgot    bool                    // results of it were given up
	kinds     map[string]argumentKind // of arguments that no schema has, see trace.kind
	counted   int                     // of its bytes, in the tracker's total; guarded by the tracker's lock

	// The value that is looked up, in its forms, in reused memory.
	value, passage folded.Text
	backwards      []byte
	place          []byte
	budget         int // bytes of results that may still be compared for this call
	look           lookup
}

// A result is what came of one call, as text.
type result struct {
	raw       string
	text      *folded.Text // nil while it is pending
	tool      *middleware.Tool
	call      string
	seq       int
	trusted   bool
	sensitive bool
}

// add adds a result, which is folded when the first value is looked up, and gives up the oldest beyond the
// limits.
func (s *session) add(r *result, l Limits) {
	s.pending = append(s.pending, r)
	s.results++
	s.bytes += len(r.raw)
	for s.results > 1 && (s.results > l.Results || s.bytes > l.Bytes) {
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
	s.results--
	if len(s.groups) == 0 {
		s.bytes -= len(s.pending[0].raw)
		s.pending = s.pending[1:]
		return
	}
	g := s.groups[0]
	bit := bits.TrailingZeros64(g.used)
	s.bytes -= len(g.results[bit].raw)
	g.remove(bit)
	if g.used == 0 {
		s.groups = s.groups[1:]
	}
}

// held returns about how many bytes the session takes, with its index.
func (s *session) held() int {
	n := 0
	for _, g := range s.groups {
		n += 8*len(g.grams) + 2*g.size
	}
	return n + s.bytes
}

// read returns the text of a result, and notes what the result claims of itself.
func (r *result) read(res *mcp.CallToolResult, err error) string {
	var parts []string
	if err != nil {
		parts = append(parts, err.Error())
	}
	if res == nil {
		return strings.Join(parts, "\n")
	}
	r.claim(res.Meta)
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			r.claim(c.Meta)
			parts = append(parts, c.Text)
		case *mcp.EmbeddedResource:
			r.claim(c.Meta)
			if c.Resource != nil {
				parts = append(parts, c.Resource.URI, c.Resource.Text)
			}
		case *mcp.ResourceLink:
			r.claim(c.Meta)
			parts = append(parts, c.URI, c.Name, c.Title, c.Description)
		case *mcp.ImageContent:
			r.claim(c.Meta)
		case *mcp.AudioContent:
			r.claim(c.Meta)
		}
	}
	if res.StructuredContent != nil {
		if raw, err := json.Marshal(res.StructuredContent); err == nil {
			parts = append(parts, string(raw))
		}
	}
	return strings.Join(parts, "\n")
}
