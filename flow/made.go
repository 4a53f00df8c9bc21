package flow

import (
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/flow/internal/folded"
	"github.com/fairlead-go/fairlead/flow/internal/reading"
)

// A made value stands in no text as it is: a text spells it out, or has what it was made from. How that was is shown to a
// person with the parts.
type made struct {
	how   string
	of    string // the parts as they stand in the text, quoted
	first string // of them
	at    int    // where that is, in folded form
	len   int
	weak  bool // other numbers of the text may give it by chance
	field bool // its parts are fields of their own
}

const (
	saidInWords = "said in words"
	computed    = "computed"
	otherForm   = "in another form"
	inParts     = "in several parts"
	corrected   = "with one character changed"
	translated  = "translated"
)

// maxRead is how much of a text is read for what it spells out.
const maxRead = 64 << 10

// readings are what a text spells out, read when the first value is looked for in it that stands nowhere.
type readings struct {
	raw     string
	said    []spelled
	numbers []reading.Number
	dates   []reading.Date
}

type spelled struct {
	reading.Part
	norm []byte
}

func read(raw string) *readings {
	raw = strings.ToValidUTF8(raw[:min(len(raw), maxRead)], " ")
	text := reading.New(raw)
	r := &readings{raw: raw, numbers: text.Numbers(), dates: text.Dates(time.Now())}
	for _, part := range text.Said() {
		r.said = append(r.said, spelled{part, folded.New(part.Text, false).Norm})
	}
	return r
}

// readAll reads the results of a group that were not read.
func (g *group) readAll() {
	for all := g.used &^ g.read; all != 0; all &= all - 1 {
		bit := bits.TrailingZeros64(all)
		r := read(g.results[bit].raw)
		g.results[bit].reads = r
		if len(r.said) > 0 {
			g.spells |= 1 << bit
		}
		if len(r.numbers) > 0 {
			g.counts |= 1 << bit
		}
		for _, date := range r.dates {
			if g.days == nil {
				g.days = make(map[string]uint64)
			}
			g.days[date.Day] |= 1 << bit
		}
	}
	g.read |= g.used
}

// makes reports whether a value of a kind can be made from parts of a text.
func (k argumentKind) makes() bool {
	return k.leads() && k != kindCredential || slices.Contains([]argumentKind{kindAmount, kindTime, kindName, kindDetail, kindPath, kindAddress, kindID, kindRepository}, k)
}

// made returns from what an untrusted result, or else a trusted one, makes the value. A value that the user's words make
// stays from nowhere known, since only a whole value is the user's; a person is shown the words.
func (l *lookup) made() (found origin) {
	if !l.kind.makes() || len(l.raw) > maxObject {
		return found
	}
	m := maker{lookup: l}
	m.prepare()
	users := m.users()
	if users != nil && !l.shows && l.kind == kindTime { // no rule asks about it
		return origin{users: users}
	}
	for _, groups := range [...][]*group{l.s.groups, l.sharedGroups()} {
		for _, g := range groups {
			g.readAll()
			for all := g.used & m.candidates(g); all != 0; all &= all - 1 {
				r := g.results[bits.TrailingZeros64(all)]
				if l.s.budget -= m.cost(r.text); l.s.budget < 0 {
					return found
				}
				if best := found.result; best != nil && (r.trusted || !best.trusted && best.tick < r.tick) {
					continue
				}
				if made, ok := m.from(r.text, r.reads); ok {
					made.place(r.text)
					found = origin{from: fromResult, result: r, at: made.at, len: made.len, how: made.how, made: &made}
					found.whole = !r.passed && r.tool.Server == l.server && made.field
				}
			}
		}
	}
	found.users = users
	return found
}

// What the user's words make, while the parts are not wanted: usersSaid if they spell it out.
var usersMade, usersSaid = new(made), &made{how: saidInWords}

// users returns from what the user's words make the value, nil if they do not.
func (m *maker) users() *made {
	for i, t := range m.s.user {
		if mine, ok := m.from(t, m.s.userReadings(i)); ok && !mine.weak {
			switch {
			case m.kind == kindPath && !m.folderSaid():
				continue
			case !m.shows && mine.how == saidInWords:
				return usersSaid
			case !m.shows:
				return usersMade
			}
			parts := mine // on the heap for a person alone
			return &parts
		}
	}
	return nil
}

// candidates returns the bits of the results of a group that may make the value.
func (m *maker) candidates(g *group) uint64 {
	switch m.kind {
	case kindAmount:
		if !m.number {
			return 0
		}
		return g.counts
	case kindTime:
		return g.days[m.day]
	}
	all := g.spells
	for _, norms := range [...][][]byte{m.abroad, m.meant} {
		for _, norm := range norms {
			all |= g.candidates(norm)
		}
	}
	if len(m.words) > 0 {
		all |= g.candidates(m.longest()[1:])
	}
	if n := len(m.norm); (m.kind.leads() || m.kind == kindPath) && n >= minNearly {
		all |= g.candidates(m.norm[:n/2]) | g.candidates(m.norm[n/2:2*(n/2)])
		all |= g.mostly(m.norm)
	}
	return all
}

// longest returns the longest word of the value.
func (m *maker) longest() []byte {
	return slices.MaxFunc(m.words, func(a, b []byte) int { return len(a) - len(b) })
}

// mostly returns the bits of the results that have a value but for what a few cuts take from it.
func (g *group) mostly(norm []byte) (found uint64) {
	var counts [64]int
	total := len(norm) - gramLen + 1
	for i := range total {
		for all := g.used & g.grams[g.gram(norm[i:])]; all != 0; all &= all - 1 {
			counts[bits.TrailingZeros64(all)]++
		}
	}
	for bit, n := range counts {
		if n > 0 && n >= total-(maxPieces-1)*(gramLen-1) {
			found |= 1 << bit
		}
	}
	return found
}

func (l *lookup) sharedGroups() []*group {
	if l.s.shared == nil {
		return nil
	}
	return l.s.shared.groups
}

// userReadings returns those of a message of the user.
func (s *session) userReadings(i int) *readings {
	t := s.user[i]
	if r, ok := s.userRead[t]; ok {
		return r
	}
	if s.userRead == nil || len(s.userRead) > 2*len(s.user) {
		s.userRead = make(map[*folded.Text]*readings)
	}
	r := read(t.Raw)
	s.userRead[t] = r
	return r
}

// note returns what a person is shown of the parts.
func (o *origin) note() string {
	var notes []string
	if o.made != nil {
		notes = append(notes, o.made.String()+" there")
	}
	if o.users != nil {
		notes = append(notes, o.users.String()+" in your words")
	}
	return strings.Join(notes, "; ")
}

func (m *made) String() string {
	switch {
	case m.how == corrected:
		return "differs in one character from " + m.of
	case m.weak:
		return "can be made from " + m.of
	}
	return "made from " + m.of
}

// parts returns parts of a text as a person is shown them.
func (m *maker) parts(between string, parts ...string) string {
	if !m.shows {
		return ""
	}
	quoted := make([]string, len(parts))
	for i, part := range parts {
		quoted[i] = quote(part, maxShown)
	}
	return strings.Join(quoted, between)
}

// A maker looks for what one value was made from, in one text after the other.
type maker struct {
	*lookup

	steps int // see maxSteps

	amount float64
	number bool     // amount is one
	day    string   // of a date
	words  [][]byte // of a name, a path or an address, folded; one letter stands for a word
	domain []byte   // of a mail address, folded
	meant  [][]byte // what the word means in other languages, folded
	abroad [][]byte // a telephone number as it is written in its country, folded
}

// prepare notes in what forms the value is looked for.
func (m *maker) prepare() {
	switch m.kind {
	case kindAmount:
		m.amounts()
	case kindTime:
		m.day = dayOf(m.raw)
	case kindRecipient:
		m.addressee()
	default:
		m.names()
	}
}

// cost returns about how many bytes of a text are compared.
func (m *maker) cost(t *folded.Text) int {
	if m.kind == kindAmount || m.kind == kindTime {
		return 256
	}
	return len(t.Norm) / 4
}

func (m *maker) from(t *folded.Text, r *readings) (found made, ok bool) {
	switch m.kind {
	case kindAmount:
		found, ok = m.amountFrom(r)
	case kindTime:
		found, ok = m.dayFrom(r)
	default:
		found, ok = m.textFrom(t, r)
	}
	return found, ok
}

// place looks up where the first part stands.
func (m *made) place(t *folded.Text) {
	if m.len == 0 {
		part := folded.New(m.first, false).Norm
		if m.at = t.Find(part, false, 0); m.at >= 0 {
			m.len = len(part)
			m.field = t.Field(m.at, m.len, m.first)
		}
	}
	m.at = max(0, m.at)
}

// dayFrom returns the words of a text for the day of the value.
func (m *maker) dayFrom(r *readings) (made, bool) {
	if m.day == "" {
		return made{}, false
	}
	for _, date := range r.dates {
		if date.Day == m.day {
			text := r.raw[date.At:date.End]
			return made{how: otherForm, of: m.parts("", text), first: text}, true
		}
	}
	return made{}, false
}

// dayOf returns the day of a value, "" for none.
func dayOf(value string) string {
	if len(value) >= len(time.DateOnly) {
		if _, err := time.Parse(time.DateOnly, value[:len(time.DateOnly)]); err == nil {
			return value[:len(time.DateOnly)]
		}
	}
	if days := reading.New(value).Dates(time.Now()); len(days) > 0 {
		return days[0].Day
	}
	return ""
}
