package output

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/schema"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of the names of members that were left out.
const (
	maxUnnamed = 1000 // paths that are counted
	maxNames   = 200  // characters of all paths that are shown
	maxName    = 40   // characters of a name that is shown
)

// unnamed are the members that the output schema does not name and that the model does not get.
type unnamed struct {
	paths map[string]bool // whether each can be shown
	more  bool            // than maxUnnamed
}

// add counts the members of one path once, however many elements of a list have them.
func (u *unnamed) add(path []string) {
	if len(u.paths) >= maxUnnamed {
		u.more = true
		return
	}
	plain := true
	var b strings.Builder
	for i, name := range path {
		if name == schema.Element {
			b.WriteString(name)
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(name)
		plain = plain && plainName(name)
	}
	if u.paths == nil {
		u.paths = make(map[string]bool)
	}
	u.paths[b.String()] = plain
}

// join adds the members of another document.
func (u *unnamed) join(other unnamed) {
	if u.paths == nil {
		*u = other
		return
	}
	maps.Copy(u.paths, other.paths)
	u.more = u.more || other.more
}

// plainName reports whether a name is one word. A server may choose a name that reads as an instruction.
func plainName(name string) bool {
	return name != "" && utf8.RuneCountInString(name) <= maxName && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-$", r)
	})
}

// text returns the paths in the order of the alphabet, as many as have room, and how many others there are.
func (u *unnamed) text() string {
	var shown []string
	room, others := maxNames, 0
	for _, path := range slices.Sorted(maps.Keys(u.paths)) {
		if n := trim.Text(path, maxNames) + len(", "); u.paths[path] && n <= room {
			shown, room = append(shown, path), room-n
		} else {
			others++
		}
	}
	if others == 0 {
		return strings.Join(shown, ", ")
	}
	rest := fmt.Sprintf("members: %d", others)
	if u.more {
		rest = fmt.Sprintf("members: more than %d", others)
	}
	if len(shown) == 0 {
		return rest
	}
	return strings.Join(shown, ", ") + ", other " + rest
}

// leftOut returns the text for the model about what it does not get, "" if there is nothing.
func (a *answer) leftOut() string {
	var facts []string
	if len(a.unnamed.paths) > 0 {
		facts = append(facts, "Left out, since the output schema of the tool does not name them: "+a.unnamed.text()+".")
	}
	if len(a.nulls.paths) > 0 {
		facts = append(facts, "Left out, since they are null and the output schema of the tool takes no null there: "+a.nulls.text()+".")
	}
	if a.withheld > 0 {
		facts = append(facts, fmt.Sprintf("Parts withheld, since they do not keep to the output schema: %d.", a.withheld))
	}
	if len(facts) == 0 {
		return ""
	}
	return "[" + strings.Join(facts, " ") + "]"
}

// A reading is an answer that is read as soon as the result is there, once for the record of the call, which is
// written further in, and for the model.
type reading struct {
	caller *caller
	ctx    context.Context //nolint:containedctx // of the call, which it ends with
	call   middleware.Call
	state  *callstate.State

	mu sync.Mutex
	a  *answer // of the result that was read last
}

// of returns the answer of a result, with what is left out of it on the record of the call.
func (r *reading) of(res *mcp.CallToolResult) (*answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.a != nil && r.a.res == res {
		return r.a, nil
	}
	call := r.call
	call.Tool = r.state.Tool(call.Tool) // as further in
	a, err := r.caller.begin(r.ctx, call, res)
	if err != nil {
		return nil, err
	}
	if a.contract != nil && a.prepare() == nil && (len(a.unnamed.paths) > 0 || len(a.nulls.paths) > 0 || a.withheld > 0) {
		why := a.unnamed.text()
		if len(a.nulls.paths) > 0 {
			why = strings.TrimPrefix(fmt.Sprintf("%s, null: %s", why, a.nulls.text()), ", ")
		}
		if a.withheld > 0 {
			why = strings.TrimPrefix(fmt.Sprintf("%s, parts: %d", why, a.withheld), ", ")
		}
		r.state.Decide("output", "left_out", why)
	}
	r.a = a
	return a, nil
}

// early reads a result before it has left the chain. A panic of the host's is left to the reading for the model.
func (r *reading) early(res *mcp.CallToolResult) {
	defer func() { _ = recover() }()
	if !res.NeedsInput() {
		_, _ = r.of(res)
	}
}
