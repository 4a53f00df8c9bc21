package output

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

// Paging says how a tool that lists something is asked for more. Places in the
// answer are JSON Pointers (RFC 6901): /meta/cursor.
type Paging struct {
	// Rows is where the list stands; "" means that the whole answer is the list.
	Rows string
	// Next is where the answer says how to go on: the cursor, or the offset of the next
	// row. It is rewritten when rows are cut. "" means nowhere; the model is told in
	// words all the same.
	Next string
	// More is where the answer says whether there are more rows, as true or false; ""
	// means nowhere.
	More string
	// Cursor is the argument that takes the cursor. The cursor of a cut page is made
	// here: when it comes back, the same page is asked for again and its first rows are
	// left out. So the tool must only read (one of another class gets no such cursor),
	// and the argument must take any text.
	Cursor string
	// Offset is the argument that says how many rows to leave out, in place of Cursor.
	Offset string
}

type paging struct {
	rows, next, more pointer
	hasNext, hasMore bool
	cursor, offset   string
}

func newPaging(tool string, p Paging) *paging {
	if server, name, ok := strings.Cut(tool, "/"); !ok || server == "" || name == "" {
		panic(fmt.Sprintf("output: Options.Paging[%q]: the key must be server/tool", tool))
	}
	if (p.Cursor == "") == (p.Offset == "") {
		panic(fmt.Sprintf("output: Options.Paging[%q] must name one of Cursor and Offset", tool))
	}
	at := func(field, s string) pointer {
		parts, err := parsePointer(s)
		if err != nil {
			panic(fmt.Sprintf("output: Options.Paging[%q].%s: %v", tool, field, err))
		}
		return parts
	}
	return &paging{
		rows: at("Rows", p.Rows), next: at("Next", p.Next), more: at("More", p.More),
		hasNext: p.Next != "", hasMore: p.More != "", cursor: p.Cursor, offset: p.Offset,
	}
}

// A page is one call of a tool that pages.
type page struct {
	*paging

	token json.RawMessage // the tool's own cursor by which the page was asked for, nil for the first
	skip  int             // rows of it that were seen already
	start int             // the offset that was asked for
	from  int             // how many rows stood before those of the answer, in the tool's page
}

// cursorPrefix tells our cursors from those of tools.
const cursorPrefix = "fairlead."

// A position is what a cursor of ours holds.
type position struct {
	Token json.RawMessage `json:"c,omitempty"` // the tool's own
	Skip  int             `json:"n"`
}

// begin returns the call as the tool understands it, and the page that is asked
// for, nil where nothing can be read on. Arguments that are no object are for
// others to refuse.
func (p *paging) begin(call middleware.Call) (middleware.Call, *page, error) {
	if p == nil {
		return call, nil, nil
	}
	arguments := make(map[string]json.RawMessage)
	if len(call.Arguments) > 0 {
		if err := json.Unmarshal(call.Arguments, &arguments); err != nil {
			return call, nil, nil //nolint:nilerr // as said
		}
	}
	at := &page{paging: p}
	if p.offset != "" {
		if raw, ok := arguments[p.offset]; ok && string(raw) != "null" {
			n, err := strconv.Atoi(string(raw))
			if err != nil || n < 0 {
				return call, nil, nil //nolint:nilerr // nor is it ours to say what an offset is
			}
			at.start = n
		}
		return call, at, nil
	}
	at.token = arguments[p.cursor]
	var text string
	if json.Unmarshal(at.token, &text) != nil || !strings.HasPrefix(text, cursorPrefix) {
		return call, at, nil
	}
	where, err := parseCursor(text)
	if err != nil {
		return call, nil, &cursorError{tool: call.Tool, argument: p.cursor, err: err}
	}
	at.token, at.skip = where.Token, where.Skip
	sent := maps.Clone(arguments)
	if delete(sent, p.cursor); where.Token != nil {
		sent[p.cursor] = where.Token
	}
	call.Arguments, err = json.Marshal(sent)
	return call, at, err
}

func parseCursor(text string) (position, error) {
	var where position
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text, cursorPrefix))
	if err != nil {
		return where, err
	}
	if err := json.Unmarshal(raw, &where); err != nil {
		return where, err
	}
	if where.Skip <= 0 {
		return where, fmt.Errorf("it leaves out %d rows", where.Skip)
	}
	return where, nil
}

// A cursorError says that a cursor of ours has been changed.
type cursorError struct {
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
func (e *cursorError) NotSent() bool { return true }

// goesOn reports whether a cut page of the tool can be read on.
func (p *page) goesOn(tool *middleware.Tool) bool {
	return p != nil && (p.offset != "" || tool.Safety() == annotation.Safe)
}

// list returns the rows of a document.
func (p *page) list(v any) ([]any, bool) {
	if p == nil {
		return nil, false
	}
	at, ok := p.rows.in(v)
	rows, isList := at.([]any)
	return rows, ok && isList
}

// leaveOut takes out of a document, which is ours to write to, the rows that were
// seen already.
func (p *page) leaveOut(v any) any {
	rows, ok := p.list(v)
	if !ok || p.skip == 0 {
		return v
	}
	p.from = min(p.skip, len(rows))
	return p.rows.set(v, rows[p.from:])
}

// after returns how to ask for what comes behind the first kept rows of a document:
// a cursor, or an offset.
func (p *page) after(kept int) any {
	if p.offset != "" {
		return json.Number(strconv.Itoa(p.start + kept))
	}
	raw, err := json.Marshal(position{Token: p.token, Skip: p.from + kept})
	if err != nil {
		panic("output: " + err.Error()) // the token was decoded from JSON
	}
	return whole(cursorPrefix + base64.RawURLEncoding.EncodeToString(raw))
}

// argument names what takes the value of after.
func (p *page) argument() string { return p.cursor + p.offset }
