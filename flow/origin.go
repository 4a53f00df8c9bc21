package flow

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/flow/internal/folded"
)

// An origin is where a value came from.
type origin struct {
	from   string  // fromUser, fromHost, fromResult or fromNowhere
	result *result // of fromResult
	at     int     // where its text has the value, in folded form
	len    int
	how    string // "" if it is there verbatim
	whole  bool   // it is a whole field of a result of the same server, which offers it
	made   *made  // from what the result makes it, nil if it has it
	users  *made  // from what the user's words make it
	link   bool   // a link of a page that the result has
}

const (
	fromUser    = "user"
	fromHost    = "host"
	fromResult  = "result"
	fromNowhere = "unknown"
)

// A lookup finds the origin of one value. The user's words count before the host's and these before results, so that a
// value that a result repeats stays the user's. In results it is looked for as it is, written backwards, encoded, in
// two parts and, if it is a text, in part; the first form that is found decides. Texts are compared in folded
// form, in which case, accents, look-alikes and blanks do not count (see package folded).
type lookup struct {
	s      *session
	host   []*folded.Text
	server string
	kind   argumentKind
	raw    string
	norm   []byte
	own    *result // the definition of the tool
	shows  bool    // the parts of a made value are wanted, for a person
}

// The lengths, in folded bytes, of the shortest value that is searched, the shortest that may be a part of a
// word, the shortest part of a value that came in two, and the shortest passage.
const (
	minValue   = 3
	minInside  = 6
	minPart    = 4
	minSplit   = 10
	minPassage = 12
	maxFields  = 16   // places of a value that are looked at for a field
	maxCompare = 1024 // of a longer value its beginning is looked for
)

// origin returns where the value came from.
func (l *lookup) origin() origin {
	n := len(l.norm)
	switch {
	case n > 0 && slices.ContainsFunc(l.s.user, l.said):
		return origin{from: fromUser}
	case n > 0 && slices.ContainsFunc(l.host, l.said):
		return origin{from: fromHost}
	case n < minValue:
		return origin{from: fromNowhere}
	}
	l.s.settle()
	o := l.search(l.norm[:min(n, maxCompare)], "")
	if o.result == nil && l.kind == kindURL {
		o = l.linked()
	}
	if o.result == nil && n >= minInside {
		l.s.backwards = folded.Backwards(l.s.backwards[:0], l.norm[max(0, n-maxCompare):])
		o = l.search(l.s.backwards, "written backwards")
	}
	if o.result == nil && n >= minPart {
		for _, part := range folded.Decode(l.raw, 2) {
			if norm := folded.New(part.Text, false).Norm; len(norm) >= minPart {
				o = l.search(norm, "encoded")
			}
			if o.result != nil {
				break
			}
		}
	}
	if o.result == nil {
		o = l.encoded()
	}
	if o.result == nil {
		o = l.split()
	}
	if o.result == nil && n >= minPart && (l.kind == kindText || l.kind == kindCommand || n > 4*minPassage) {
		o = l.passage()
	}
	if o.result == nil {
		o = l.definition()
	}
	if o.result == nil {
		o = l.made()
	} else if l.kind == kindTime {
		m := maker{lookup: l}
		m.prepare()
		o.users = m.users()
	}
	if o.result == nil && o.users != nil && o.users.how == saidInWords && l.kind != kindTime && l.kind != kindAmount {
		o.from = fromUser // spelled out by nobody else
	}
	o.from = cmp.Or(o.from, fromNowhere)
	return o
}

// said reports whether a text has the value as whole words. An address, a path, a credential or a command has to be all
// that stands there, and may differ in case and blanks alone.
func (l *lookup) said(t *folded.Text) bool {
	if l.kind == kindURL {
		return l.saidURL(t)
	}
	if l.kind == kindRepository && l.saidURL(t) {
		return true
	}
	for from, tries := 0, 0; tries < folded.MaxTries; tries++ {
		at := t.Find(l.norm, true, from)
		if at < 0 || !t.Edge(at) || !t.Edge(at+len(l.norm)) {
			break
		}
		if !l.kind.exact() || l.kind.same(t.Whole(at, len(l.norm)), l.raw) {
			return true
		}
		from = at + 1
	}
	if l.kind.leads() { // next to letters of a script that writes words without blanks
		for word := range folded.Words(t.Raw) {
			if l.kind.same(word, l.raw) {
				return true
			}
		}
	}
	return false
}

// search returns the result that has a folded value: the earliest, since a later one may be a copy of it, at a trusted
// server too. Of untrusted ones the earliest counts, as a field that the server offers if one
// of them has it so.
func (l *lookup) search(norm []byte, how string) (best origin) {
	short := len(norm) < minInside || len(bytes.Trim(norm, "0123456789")) == 0
	var vouched origin // of a trusted result
	for _, groups := range l.s.all(l.kind) {
		for _, g := range groups {
			for all := g.candidates(norm); all != 0; all &= all - 1 {
				r := g.results[bits.TrailingZeros64(all)]
				if l.s.budget -= len(r.text.Norm); l.s.budget < 0 {
					return cmp.Or(best, vouched)
				}
				at := r.text.Find(norm, short, 0)
				if at < 0 {
					continue
				}
				o := l.found(r, at, norm, short, how)
				if r.trusted {
					vouched = earlier(vouched, o)
				} else {
					whole := best.whole || o.whole
					best = earlier(best, o)
					best.whole = whole
				}
			}
		}
	}
	if vouched.result != nil && (best.result == nil || vouched.result.tick < best.result.tick) {
		return vouched
	}
	return best
}

func earlier(a, b origin) origin {
	if a.result == nil || b.result.tick < a.result.tick {
		return b
	}
	return a
}

// found returns the origin of a value at a place of a result.
func (l *lookup) found(r *result, at int, norm []byte, short bool, how string) origin {
	o := origin{from: fromResult, result: r, at: at, len: len(norm), how: how}
	if at >= r.text.Own {
		o.how = "encoded"
	}
	if how == "" && !r.passed && r.tool.Server == l.server {
		for next, n := at, 0; next >= 0 && !o.whole && n < maxFields; n++ {
			o.whole = r.text.Field(next, len(norm), l.raw)
			next = r.text.Find(norm, short, next+1)
		}
	}
	return o
}

// split returns where the two parts of a value came from: of one result with both, otherwise of two, and then the
// longer part counts. Two parts of a free text count only in one result.
func (l *lookup) split() (found origin) {
	shortest, least := minPart, minSplit
	if l.kind == kindText {
		shortest, least = 2*minPart, 2*minSplit
	}
	if len(l.norm) < least || len(l.norm) > 256 {
		return origin{}
	}
	for cut := min(l.longest(), len(l.norm)-shortest); cut >= shortest; cut-- {
		first := l.search(l.norm[:cut], "in two parts")
		if first.result == nil || !first.result.text.Edge(first.at) {
			continue
		}
		second := l.search(l.norm[cut:], "in two parts")
		switch {
		case second.result == nil || !second.result.text.Edge(second.at+second.len):
		case first.result == second.result:
			return first
		case found.result == nil && l.kind != kindText:
			if found = first; cut < len(l.norm)-cut {
				found = second
			}
		}
	}
	return found
}

// longest returns the length of the longest beginning of the value that a result may have.
func (l *lookup) longest() int {
	most := 0
	for _, groups := range l.s.all(l.kind) {
		for _, g := range groups {
			all := g.used
			for i := 0; i+gramLen <= len(l.norm); i++ {
				if all &= g.grams[g.gram(l.norm[i:])]; all == 0 {
					break
				}
				most = max(most, i+gramLen)
			}
		}
	}
	return most
}

// passage returns where the first sentence or line of a longer text was copied from.
func (l *lookup) passage() origin {
	for passage := range strings.FieldsFuncSeq(l.raw, func(r rune) bool { return strings.ContainsRune(".!?\n;,:|", r) }) {
		if l.s.budget < 0 {
			break
		}
		norm := l.s.passage.Set(passage)
		if len(norm) < minPassage || len(norm) == len(l.norm) {
			continue
		}
		mine := lookup{l.s, l.host, l.server, kindText, passage, norm, nil, l.shows}
		if slices.ContainsFunc(l.s.user, mine.said) {
			continue
		}
		if o := l.search(norm[:min(len(norm), maxCompare)], "in part"); o.result != nil {
			o.whole = false
			return o
		}
	}
	return origin{}
}
