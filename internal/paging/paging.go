// Package paging asks a tool that lists something for the rows that a cut answer left
// out: it knows where a tool's answer says how to go on, makes cursors of ours for
// pages that the tool itself did not end, and understands them when they come back.
package paging

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/middleware"
)

// Places say where a tool's answer and its arguments speak of pages. What each means
// stands in output.Paging.
type Places struct{ Rows, Next, More, Cursor, Offset string }

// A Paging is how one tool is asked for more. It never changes.
type Paging struct {
	rows, next, more jsontree.Pointer // nil for one that is not set
	cursor, offset   string
}

// New reads the places. It panics where they are not usable; field is the setting that
// the panic blames.
func New(field string, p Places) *Paging {
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
	return &Paging{
		rows: at("Rows", p.Rows), next: at("Next", p.Next), more: at("More", p.More),
		cursor: p.Cursor, offset: p.Offset,
	}
}

// Argument names what takes the value of [Page.After].
func (p *Paging) Argument() string { return p.cursor + p.offset }

// A Page is one call of a tool that pages. Of a nil Page nothing can be read on.
type Page struct {
	*Paging

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

// Begin returns the call as the tool understands it, and the page that is asked
// for, nil where nothing can be read on. Arguments that are no object are for
// others to refuse, and of a nil Paging nothing is asked. An error means that a cursor
// of ours has been changed.
func (p *Paging) Begin(call middleware.Call) (middleware.Call, *Page, error) {
	if p == nil {
		return call, nil, nil
	}
	arguments := make(map[string]json.RawMessage)
	if len(call.Arguments) > 0 {
		if err := json.Unmarshal(call.Arguments, &arguments); err != nil {
			return call, nil, nil //nolint:nilerr // as said
		}
	}
	at := &Page{Paging: p}
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
		return call, nil, err
	}
	at.token, at.skip = where.Token, where.Skip
	if delete(arguments, p.cursor); where.Token != nil {
		arguments[p.cursor] = where.Token
	}
	call.Arguments, err = json.Marshal(arguments)
	return call, at, err
}

func parseCursor(text string) (position, error) {
	var where position
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text, cursorPrefix))
	if err != nil {
		return where, err
	}
	if err = json.Unmarshal(raw, &where); err == nil && where.Skip <= 0 {
		err = fmt.Errorf("it leaves out %d rows", where.Skip)
	}
	return where, err
}

// GoesOn reports whether a cut page of the tool can be read on.
func (p *Page) GoesOn(tool *middleware.Tool) bool {
	return p != nil && (p.offset != "" || tool.Safety() == annotation.Safe)
}

// List returns the rows of a document.
func (p *Page) List(v any) ([]any, bool) {
	if p == nil {
		return nil, false
	}
	at, _ := p.rows.In(v)
	rows, ok := at.([]any)
	return rows, ok
}

// Skips reports whether the page has rows that were seen already.
func (p *Page) Skips() bool { return p != nil && p.skip > 0 }

// LeaveOut takes out of a document, which is ours to write to, the rows that were
// seen already.
func (p *Page) LeaveOut(v any) any {
	rows, ok := p.List(v)
	if !ok || !p.Skips() {
		return v
	}
	p.from = min(p.skip, len(rows))
	return p.rows.Set(v, rows[p.from:])
}

// After returns how to ask for what comes behind the first kept rows of a document:
// a cursor, or an offset.
func (p *Page) After(kept int) any {
	if p.offset != "" {
		return json.Number(strconv.Itoa(p.start + kept))
	}
	raw, err := json.Marshal(position{Token: p.token, Skip: p.from + kept})
	if err != nil {
		panic("paging: " + err.Error()) // the token was decoded from JSON
	}
	return cursorPrefix + base64.RawURLEncoding.EncodeToString(raw)
}

// Reserve puts into the document, where it says how to go on, values that are not
// cut and leave room for what restore puts there in the end: next, or where that is
// nil what stood there.
func (p *Page) Reserve(v any, rows int) (restore func(v, next any)) {
	was, hasNext := p.next.In(v)
	more, hasMore := p.more.In(v)
	hasMore = hasMore && p.more != nil
	if p.next != nil {
		longest := p.After(rows)
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
