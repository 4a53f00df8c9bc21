package output

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/middleware"
)

// Paging describes how to ask a tool for more. Places in the result are JSON Pointers (RFC 6901): /meta/cursor.
type Paging struct {
	// Rows is the place of the list; "" means that the whole answer is the list.
	Rows string
	// Next is where the result has the cursor, or the offset of the next row, which is rewritten when rows are
	// cut; "" means nowhere.
	Next string
	// More is the member of the answer that is true if there are more rows; "" means none.
	More string
	// Cursor is the argument that takes the cursor. A cut page gets a cursor made here: when it comes back, the
	// same page is requested again and its first rows are left out. So the tool must only read, and take any
	// text.
	Cursor string
	// Offset is the argument for how many rows to leave out, in place of Cursor.
	Offset string
}

// A pager is how one tool is asked for more. It does not change.
type pager struct {
	rows, next, more jsontree.Pointer // nil for one that is not set
	cursor, offset   string
}

// newPager panics if the paging of a tool is not usable.
func newPager(tool string, p Paging) *pager {
	field := fmt.Sprintf("output: Options.Paging[%q]", tool)
	if server, name, ok := strings.Cut(tool, "/"); !ok || server == "" || name == "" {
		panic(field + ": the key must be server/tool")
	}
	if (p.Cursor == "") == (p.Offset == "") {
		panic(field + " must name one of Cursor and Offset")
	}
	at := func(place, s string) jsontree.Pointer {
		parts, err := jsontree.ParsePointer(s)
		if err != nil {
			panic(fmt.Sprintf("%s.%s: %v", field, place, err))
		}
		return parts
	}
	return &pager{at("Rows", p.Rows), at("Next", p.Next), at("More", p.More), p.Cursor, p.Offset}
}

func (p *pager) argument() string { return p.cursor + p.offset }

// A page is one call of a tool that pages. Of a nil page nothing can be read on.
//
// If rows of a page are cut, the tool's own cursor would lead past them. So the model gets a cursor of ours instead,
// which has the cursor of this page and the number of its rows that were shown: begin requests the same page again,
// leaveOut drops those rows from the result, and after makes the next cursor. A tool that takes an offset needs
// none of this.
type page struct {
	*pager
	position

	start int // the offset that was asked for
	from  int // the number of rows before those of the answer, in the tool's page
}

// A position is what a cursor of ours has.
type position struct {
	Token json.RawMessage `json:"c,omitempty"` // the tool's own cursor, nil for the first page
	Skip  int             `json:"n"`           // rows of the page that were seen already
}

const cursorPrefix = "fairlead."

// begin returns the call as its tool understands it, and the requested page, nil if it cannot be read on.
// Arguments that are not an object are for others to refuse. The error is a [*cursorError].
func (p *pager) begin(call middleware.Call) (middleware.Call, *page, error) {
	if p == nil {
		return call, nil, nil
	}
	arguments := make(map[string]json.RawMessage)
	if len(call.Arguments) > 0 && json.Unmarshal(call.Arguments, &arguments) != nil {
		return call, nil, nil
	}
	at := &page{pager: p}
	if p.offset != "" {
		if raw, ok := arguments[p.offset]; ok && string(raw) != "null" {
			var err error
			if at.start, err = strconv.Atoi(string(raw)); err != nil || at.start < 0 {
				return call, nil, nil //nolint:nilerr // what an offset is, the tool decides
			}
		}
		return call, at, nil
	}
	var text string
	at.Token = arguments[p.cursor]
	if json.Unmarshal(at.Token, &text) != nil || !strings.HasPrefix(text, cursorPrefix) {
		return call, at, nil
	}
	at.Token = nil
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text, cursorPrefix))
	if err == nil {
		err = json.Unmarshal(raw, &at.position)
	}
	if err == nil && at.Skip <= 0 {
		err = fmt.Errorf("it leaves out %d rows", at.Skip)
	}
	if err == nil {
		if delete(arguments, p.cursor); at.Token != nil {
			arguments[p.cursor] = at.Token
		}
		call.Arguments, err = json.Marshal(arguments)
	}
	if err != nil {
		return call, nil, &cursorError{tool: call.Tool, argument: p.cursor, err: err}
	}
	return call, at, nil
}

func (p *page) goesOn(tool *middleware.Tool) bool {
	return p != nil && (p.offset != "" || tool.Safety() == annotation.Safe)
}

func (p *page) list(v any) ([]any, bool) {
	if p == nil {
		return nil, false
	}
	at, _ := p.rows.In(v)
	rows, ok := at.([]any)
	return rows, ok
}

func (p *page) skips() bool { return p != nil && p.Skip > 0 }

func (p *page) leaveOut(v any) any {
	rows, ok := p.list(v)
	if !ok || !p.skips() {
		return v
	}
	p.from = min(p.Skip, len(rows))
	return p.rows.Set(v, rows[p.from:])
}

// after returns how to ask for what comes behind the first kept rows of a document: a cursor, or an offset.
func (p *page) after(kept int) any {
	if p.offset != "" {
		return json.Number(strconv.Itoa(p.start + kept))
	}
	raw, err := json.Marshal(position{p.Token, p.from + kept})
	if err != nil {
		panic("output: " + err.Error()) // the token was decoded from JSON
	}
	return cursorPrefix + base64.RawURLEncoding.EncodeToString(raw)
}

// reserve makes room in the document for the next page. Restore puts next there, or the earlier value if it is nil.
func (p *page) reserve(v any, rows int) (restore func(v, next any)) {
	was, hasNext := p.next.In(v)
	more, hasMore := p.more.In(v)
	hasMore = hasMore && p.more != nil
	if p.next != nil {
		longest := p.after(rows)
		if s, ok := was.(string); ok && len(s) > len(fmt.Sprint(longest)) {
			longest = s
		}
		if s, ok := longest.(string); ok {
			longest = trim.Whole(s)
		}
		p.next.Set(v, longest)
	}
	if hasMore {
		p.more.Set(v, false) // the longer word
	}
	return func(v, next any) {
		if hasMore {
			if next != nil {
				more = true
			}
			p.more.Set(v, more)
		}
		switch {
		case p.next == nil:
		case next != nil:
			p.next.Set(v, next)
		case hasNext:
			p.next.Set(v, was)
		default:
			p.next.Remove(v)
		}
	}
}

type cursorError struct {
	fault.Unsent

	tool     *middleware.Tool
	argument string
	err      error
}

func (e *cursorError) Error() string {
	return fmt.Sprintf("output: the %s of a call of %s is not as it was given out: %v", e.argument, e.tool, e.err)
}

func (e *cursorError) ForModel() string {
	return fmt.Sprintf("%s was not called: give %q exactly as you got it, or leave it out to begin again.", e.tool.ModelName(), e.argument)
}

func (e *cursorError) Unwrap() error { return e.err }
