package output

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/redact"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MetaKey is the member of a result's _meta for an answer that was cut.
const MetaKey = "io.github.fairlead-go/output"

// leastPart is what a part should at least have room for, else there are too many.
const leastPart = 200

func (a *answer) weight(p *part, most int) int {
	switch {
	case p.gone:
		return 0
	case p.isDoc && a.rewrite:
		return trim.JSON(a.doc(p), most)
	}
	return p.weight(most)
}

func (a *answer) doc(p *part) any {
	if p.isMain {
		return a.main
	}
	return p.tree
}

func (a *answer) total(most int) int {
	n := 0
	for _, p := range a.parts {
		n += a.weight(p, most)
	}
	return n
}

func (a *answer) fits() bool {
	if a.total(a.room()) > a.room() {
		return false
	}
	return !a.structured || trim.JSON(a.main, a.limit) <= a.limit
}

// cut makes the answer small enough. Documents lose their blanks before they lose anything else.
func (a *answer) cut() error {
	if a.fits() {
		return nil
	}
	a.rewrite = true
	if a.fits() {
		return nil
	}
	a.isCut = true
	room := a.room() - trim.Text(a.longestNote(), a.limit)
	if room < leastPart { // for a cursor of the tool's own that is very long
		return errTooLong
	}
	weights, said := make([]int, 0, len(a.parts)), false
	for _, p := range a.parts {
		p.gone = p.gone || p.isMain && said // one that repeats the main document
		said = said || p.isMain
		if !p.gone {
			weights = append(weights, a.weight(p, room))
		}
	}
	share := max(leastPart, trim.Share(slices.Values(weights), room))
	if err := a.cutMain(share); err != nil {
		return err
	}
	a.cutParts(room, share)
	return nil
}

// cutMain cuts the main document to the share of a part that shows it, or to the limit where no part does.
func (a *answer) cutMain(share int) error {
	if !a.hasMain {
		return nil
	}
	room := a.limit
	if slices.ContainsFunc(a.parts, func(p *part) bool { return p.isMain }) {
		room = min(room, share)
	}
	if trim.JSON(a.main, room) <= room {
		return nil
	}
	a.changed = true
	a.markTruncated()
	rows, paged := a.page.list(a.main)
	paged = paged && a.page.goesOn(a.call.Tool)
	restore := func(any, any) {}
	if paged {
		restore = a.page.reserve(a.main, len(rows))
	}
	fitted := trim.CutJSON(a.main, room, a.shape)
	a.lost.Count(a.main, fitted)
	if kept, _ := a.page.list(fitted); paged && len(kept) < len(rows) {
		if len(kept) == 0 {
			return errTooLong // a cursor would lead to the same place again
		}
		a.lost.Shown, a.lost.Of = len(kept), len(rows)
		a.next = a.page.after(len(kept))
	}
	restore(fitted, a.next)
	a.main = fitted
	if trim.JSON(fitted, room) > room {
		return errTooLong
	}
	return nil
}

// markTruncated sets meta.truncated in the main document where it is an object whose schema has a place for it.
func (a *answer) markTruncated() {
	root, ok := a.main.(map[string]any)
	meta, named := a.shape.Lookup("meta")
	if !ok || !named {
		return
	}
	if _, named := meta.Lookup("truncated"); !named {
		return
	}
	switch at := root["meta"].(type) {
	case map[string]any:
		at["truncated"] = true
	case nil:
		if _, isNull := root["meta"]; !isNull && meta.NeedsNothingBut("truncated") {
			root["meta"] = map[string]any{"truncated": true}
		}
	}
}

// cutParts cuts the parts in their order, after those that show the main document.
func (a *answer) cutParts(room, share int) {
	for _, p := range a.parts {
		if p.isMain && !p.gone {
			room -= a.weight(p, a.limit)
		}
	}
	for _, p := range a.parts {
		if p.gone || p.isMain {
			continue
		}
		most := min(share, max(room, 0))
		if a.weight(p, most) > most && !a.cutPart(p, most) {
			p.gone = true
			a.gone++
			continue
		}
		room -= a.weight(p, most)
	}
}

func (a *answer) cutPart(p *part, most int) bool {
	switch {
	case p.isDoc:
		fitted := trim.CutJSON(p.tree, most, nil)
		a.lost.Count(p.tree, fitted)
		p.tree = fitted
	case p.isText:
		p.text = trim.CutText(p.text, most)
		a.lost.Texts++
	}
	return a.weight(p, most) <= most
}

func (a *answer) longestNote() string {
	const many = 999_999_999
	longest := answer{
		page: a.page, call: a.call, gone: many,
		lost: trim.Loss{Shown: many, Of: many + 1, Texts: many, Members: many},
	}
	if _, paged := a.page.list(a.main); paged { // and goes on, perhaps
		longest.next = a.page.after(many)
	}
	return longest.note()
}

// note is the text for the model: what is missing and how to get it.
func (a *answer) note() string {
	var lost []string
	add := func(n int, format string, args ...any) {
		if n > 0 {
			lost = append(lost, fmt.Sprintf(format, args...))
		}
	}
	add(a.lost.Of, "%d of %d items are shown", a.lost.Shown, a.lost.Of)
	add(a.lost.Texts, "texts shortened: %d", a.lost.Texts)
	add(a.lost.Members, "fields left out: %d", a.lost.Members)
	add(a.gone, "parts left out: %d", a.gone)
	how := "The rest cannot be had in this way; ask for less at a time if the tool allows it."
	if a.next != nil {
		value := fmt.Sprint(a.next) // a number
		if cursor, ok := a.next.(string); ok {
			value = strconv.Quote(cursor)
		}
		how = fmt.Sprintf("For the rest, call %s again with the same arguments and %q: %s.", a.call.Tool.ModelName(), a.page.argument(), value)
	}
	return fmt.Sprintf("[The answer was too long: %s. %s]", strings.Join(lost, "; "), how)
}

func (a *answer) meta() mcp.Meta {
	m := mcp.Meta{"truncated": true}
	if a.lost.Of > 0 {
		m["shown"], m["of"] = a.lost.Shown, a.lost.Of
	}
	if a.next != nil {
		m["next"] = map[string]any{a.page.argument(): a.next}
	}
	return m
}

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
type page struct {
	*pager
	position

	start int // the offset that was asked for
	from  int // the number of rows before those of the answer, in the tool's page
}

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

// Text returns a result as one text, for a model's API that takes nothing else. It includes structured content
// that no text repeats, and names other content in square brackets.
func Text(res *mcp.CallToolResult) string {
	if res == nil {
		return ""
	}
	var parts []string
	for _, content := range res.Content {
		if text := ContentText(content); text != "" {
			parts = append(parts, text)
		}
	}
	if text := StructuredText(res); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n")
}

// StructuredText returns the structured content of a result as JSON, and "" if it has none or a text repeats it.
func StructuredText(res *mcp.CallToolResult) string {
	if res.StructuredContent == nil {
		return ""
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return "[structured content that cannot be written as JSON]"
	}
	meant, err := jsontree.Decode(raw)
	for _, content := range res.Content {
		t, ok := content.(*mcp.TextContent)
		if !ok || err != nil || !jsontree.Likely(t.Text) {
			continue
		}
		if said, err := jsontree.Decode([]byte(t.Text)); err == nil && jsontree.Same(said, meant) {
			return ""
		}
	}
	return string(raw)
}

// ContentText returns what a model that reads text alone sees of one content.
func ContentText(content mcp.Content) string {
	switch c := content.(type) {
	case *mcp.TextContent:
		return c.Text
	case *mcp.ImageContent:
		return fmt.Sprintf("[an image, %s, %d bytes; it is not shown]", c.MIMEType, len(c.Data))
	case *mcp.AudioContent:
		return fmt.Sprintf("[a sound, %s, %d bytes; it is not played]", c.MIMEType, len(c.Data))
	case *mcp.ResourceLink:
		return fmt.Sprintf("[a resource: %s]", strings.TrimSpace(c.URI+" "+c.Description))
	case *mcp.EmbeddedResource:
		switch {
		case c.Resource == nil:
			return ""
		case c.Resource.Blob != nil:
			return fmt.Sprintf("[a resource: %s, %s, %d bytes; it is not shown]", c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
		}
		return c.Resource.Text
	}
	return fmt.Sprintf("[content of a kind that is not known here: %T]", content)
}

// Failure returns what a model reads of an error, as [New] with zero Options words it, without the error's own
// text. The tool may be nil.
func Failure(tool *middleware.Tool, err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: told(tool, err, sorry)}}, IsError: true}
}

// told returns the text of an error for the model: its text for a model, else that of sorry.
func told(tool *middleware.Tool, err error, sorry func(*middleware.Tool) string) string {
	err = middleware.OutcomeUnknown(middleware.Call{Tool: tool}, err)
	if text := middleware.ForModel(err); text != "" {
		return text
	}
	return sorry(tool) + facts(err)
}

func sorry(tool *middleware.Tool) string {
	name := "The call"
	if tool != nil {
		name = tool.ModelName()
	}
	return name + " failed. Try other arguments or another tool, or tell the user that it does not work."
}

func (c *caller) failed(ctx context.Context, call middleware.Call, err error) *mcp.CallToolResult {
	attrs := []slog.Attr{slog.String("tool", call.Tool.String()), slog.String("call", call.ID), slog.Any("err", redact.Said{Call: call, Value: err})}
	if p, ok := errors.AsType[*fault.PanicError](err); ok {
		attrs = append(attrs, slog.Any("panic", redact.Said{Call: call, Value: p.Value}), slog.String("stack", string(p.Stack)))
	}
	c.Logger.LogAttrs(ctx, slog.LevelWarn, "output: a call failed", attrs...)

	text := told(call.Tool, err, func(tool *middleware.Tool) string { return c.fallback(ctx, tool) })
	if trim.Text(text, c.Limit) > c.Limit {
		text = trim.CutText(text, c.Limit)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: true}
}

func (c *caller) fallback(ctx context.Context, tool *middleware.Tool) (text string) {
	defer func() {
		if v := recover(); v != nil {
			c.Logger.LogAttrs(ctx, slog.LevelError, "output: Options.Fallback panicked",
				slog.String("tool", tool.String()), slog.Any("panic", redact.Said{Value: v}))
		}
		text = cmp.Or(text, sorry(tool))
	}()
	if c.Fallback != nil {
		text = c.Fallback(tool)
	}
	return text
}

func facts(err error) string {
	text := ""
	switch {
	case middleware.NotSent(err):
		text = " Nothing has happened: the call did not leave."
	case middleware.Refused(err):
		text = " Nothing has happened: the server turned the call away."
	}
	if after, ok := middleware.RetryAfter(err); ok {
		text += fmt.Sprintf(" It is of no use to try again within %v.", max(after.Round(time.Second), time.Second))
	} else if middleware.Permanent(err) {
		text += " The same call would only fail again."
	}
	return text
}

// withheld returns the error of a call whose result is withheld from the model.
func withheld(tool *middleware.Tool, what string, err error) error {
	told := fmt.Sprintf("%s answered, but its answer %s, so it is withheld.", tool.ModelName(), what)
	if tool.Safety() != annotation.Safe {
		told += " The call was made: do not make it again."
	}
	if errors.Is(err, errTooLong) {
		told += " Ask for less at a time."
	} else {
		told += " Use another tool, or tell the user."
	}
	return fault.Told(fmt.Errorf("output: the answer of %s %s and is withheld from the model: %w", tool, what, err), true, told)
}

var errTooLong = errors.New("it cannot be cut to fit; raise output.Options.Limit, or let the tool answer with less")
