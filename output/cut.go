package output

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MetaKey is where the _meta of a result says that the answer was cut.
const MetaKey = "io.github.fairlead-go/output"

// leastPart is what a part should at least have room for, else there are too many.
const leastPart = 200

// weight returns how much of the limit the part takes as it will be written.
func (a *answer) weight(p *part, most int) int {
	switch {
	case p.gone:
		return 0
	case p.isMain && a.rewrite:
		return a.unit.json(a.main, most)
	case p.isDoc && a.rewrite:
		return a.unit.json(p.tree, most)
	}
	return p.weight(a.unit, most)
}

// total returns how much all parts take, or something above most.
func (a *answer) total(most int) int {
	n := 0
	for _, p := range a.parts {
		if n > most {
			break
		}
		n += a.weight(p, most)
	}
	return n
}

func (a *answer) fits() bool {
	if a.total(a.room()) > a.room() {
		return false
	}
	return !a.structured || a.unit.json(a.main, a.limit) <= a.limit
}

// cut makes the answer small enough. Documents lose their blanks before they lose
// anything else.
func (a *answer) cut() error {
	if a.fits() {
		return nil
	}
	a.rewrite = true
	if a.fits() {
		return nil
	}
	a.isCut = true
	room := a.room() - a.unit.plain(a.longestNote(), a.limit)
	if room < leastPart { // for a cursor of the tool's own that is very long
		return errTooLong
	}
	a.sayOnce()
	weights := make([]int, 0, len(a.parts))
	for _, p := range a.parts {
		if !p.gone {
			weights = append(weights, a.weight(p, room))
		}
	}
	share := max(leastPart, level(slices.Values(weights), len(weights), room))
	if err := a.cutMain(share); err != nil {
		return err
	}
	a.cutParts(room, share)
	return nil
}

// sayOnce leaves out every part that says the same as the main document but the first.
func (a *answer) sayOnce() {
	said := false
	for _, p := range a.parts {
		p.gone = p.gone || p.isMain && said
		said = said || p.isMain
	}
}

// cutMain cuts the main document to the share of a part that shows it, or to the
// limit where no part does.
func (a *answer) cutMain(share int) error {
	if !a.hasMain {
		return nil
	}
	room := a.limit
	if slices.ContainsFunc(a.parts, func(p *part) bool { return p.isMain }) {
		room = min(room, share)
	}
	if a.unit.json(a.main, room) <= room {
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
	fitted := a.unit.fit(a.main, room, a.shape(), 0)
	a.lost.count(a.main, fitted)
	if kept, _ := a.page.list(fitted); paged && len(kept) < len(rows) {
		if len(kept) == 0 {
			return errTooLong // a cursor would lead to the same place again
		}
		a.lost.shown, a.lost.of = len(kept), len(rows)
		a.next = a.page.after(len(kept))
	}
	restore(fitted, a.next)
	a.main = fitted
	if a.unit.json(fitted, room) > room {
		return errTooLong
	}
	return nil
}

func (a *answer) shape() *shape {
	if a.contract == nil {
		return nil
	}
	return a.contract.shape
}

// markTruncated sets meta.truncated in the main document where it is an object
// whose schema has a place for it.
func (a *answer) markTruncated() {
	root, ok := a.main.(object)
	meta, named := a.shape().lookup("meta")
	if !ok || !named {
		return
	}
	if _, named := meta.lookup("truncated"); !named {
		return
	}
	switch at := root["meta"].(type) {
	case object:
		at["truncated"] = true
	case nil:
		if _, isNull := root["meta"]; !isNull && meta.needsNothingBut("truncated") {
			root["meta"] = object{"truncated": true}
		}
	}
}

// reserve puts into the document, where it says how to go on, values that are not
// cut and leave room for what restore puts there in the end: next, or where that is
// nil what stood there.
func (p *page) reserve(v any, rows int) (restore func(v, next any)) {
	was, hasNext := p.next.in(v)
	more, hasMore := p.more.in(v)
	if p.hasNext {
		place := p.after(rows)
		if s, ok := was.(string); ok && len(s) > len(fmt.Sprint(place)) {
			place = whole(s)
		}
		p.next.set(v, place)
	}
	if p.hasMore && hasMore {
		p.more.set(v, false) // the longer word
	}
	return func(v, next any) {
		if w, ok := next.(whole); ok {
			next = string(w)
		}
		if p.hasMore && hasMore {
			if next != nil {
				more = true
			}
			p.more.set(v, more)
		}
		switch {
		case !p.hasNext:
		case next != nil:
			p.next.set(v, next)
		case hasNext:
			p.next.set(v, was)
		default:
			p.next.remove(v)
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

// cutPart reports whether the part could be cut to that much.
func (a *answer) cutPart(p *part, most int) bool {
	switch {
	case p.isDoc:
		fitted := a.unit.fit(p.tree, most, nil, 0)
		a.lost.count(p.tree, fitted)
		p.tree = fitted
	case p.isText:
		p.text = a.unit.cut(p.text, most, a.unit.raw)
		a.lost.texts++
	}
	return a.weight(p, most) <= most
}

// longestNote is as long as any note about this answer can be.
func (a *answer) longestNote() string {
	const many = 999_999_999
	longest := answer{
		page: a.page, call: a.call, gone: many,
		lost: loss{shown: many, of: many + 1, texts: many, members: many},
	}
	if _, paged := a.page.list(a.main); paged { // and goes on, perhaps
		longest.next = a.page.after(many)
	}
	return longest.note()
}

// note tells the model what is missing and how it can have it.
func (a *answer) note() string {
	var lost []string
	add := func(n int, format string, args ...any) {
		if n > 0 {
			lost = append(lost, fmt.Sprintf(format, args...))
		}
	}
	add(a.lost.of, "%d of %d items are shown", a.lost.shown, a.lost.of)
	add(a.lost.texts, "texts shortened: %d", a.lost.texts)
	add(a.lost.members, "fields left out: %d", a.lost.members)
	add(a.gone, "parts left out: %d", a.gone)
	how := "The rest cannot be had in this way; ask for less at a time if the tool allows it."
	if a.next != nil {
		value := fmt.Sprint(a.next) // a number
		if cursor, ok := a.next.(whole); ok {
			value = strconv.Quote(string(cursor))
		}
		how = fmt.Sprintf("For the rest, call %s again with the same arguments and %q: %s.", a.call.Tool.ModelName(), a.page.argument(), value)
	}
	return fmt.Sprintf("[The answer was too long: %s. %s]", strings.Join(lost, "; "), how)
}

// meta is what the _meta of the result says.
func (a *answer) meta() mcp.Meta {
	m := mcp.Meta{"truncated": true}
	if a.lost.of > 0 {
		m["shown"], m["of"] = a.lost.shown, a.lost.of
	}
	if a.next != nil {
		m["next"] = map[string]any{a.page.argument(): plain(a.next)}
	}
	return m
}

func plain(next any) any {
	if w, ok := next.(whole); ok {
		return string(w)
	}
	return next
}
