package output

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// metaKey is the member of a result's _meta for an answer that was cut.
const metaKey = "io.github.fairlead-go/output"

// leastPart is what a part should at least have room for, else there are too many.
const leastPart = 200

// weight returns how much of the limit a part takes as it will be shown, or something above most.
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

// cut makes the answer small enough. Documents lose their blanks before they lose anything else. Then the room that
// the note leaves is shared: each part gets its fair share (a short one needs less, so that long ones get more), the
// main document is cut first, since its rows decide where the next page begins, and the other parts follow in their
// order. The structured content repeats the main document for programs and has the whole limit to itself.
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
	if room < leastPart && a.note != "" { // then the note about the cut counts the members
		room += trim.Text(a.note, a.limit)
		a.lost.Members, a.gone, a.note = len(a.unnamed.paths)+len(a.nulls.paths), a.withheld, ""
	}
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

// cutPart cuts one part and reports whether it fits then.
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

// longestNote returns a note that no note of this answer is longer than, since the room for it is needed before what
// is missing is known.
func (a *answer) longestNote() string {
	const many = 999_999_999
	longest := answer{
		page: a.page, call: a.call, gone: many,
		lost: trim.Loss{Shown: many, Of: many + 1, Texts: many, Members: many},
	}
	if _, paged := a.page.list(a.main); paged { // and goes on, perhaps
		longest.next = a.page.after(many)
	}
	return longest.cutNote()
}

// cutNote is the text for the model: what is missing and how to get it.
func (a *answer) cutNote() string {
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
