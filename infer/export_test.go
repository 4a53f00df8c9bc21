package infer

import (
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Two plain ways to read the same lexicon, to measure against: words by
// strings.Fields and a map, and words by precompiled regular expressions. Only
// the reading differs; the same rules conclude.

// A Lexer finds the words of the lexicon in a text.
type Lexer interface{ words(text string) []found }

type found struct {
	word
	text string
	end  bool // the sentence ends here
}

// ByFields is strings.Fields and a map.
type ByFields struct{ entries map[string]word }

func NewByFields() *ByFields { return &ByFields{entries: spelled()} }

// spelled is the lexicon as a map.
func spelled() map[string]word {
	t := words()
	entries := make(map[string]word)
	for _, g := range lexicon {
		for entry := range strings.FieldsSeq(g.words) {
			for written := range formsOf(strings.Split(entry, "/"), g.sense) {
				entries[written] = *t.find(spell(written))
			}
		}
	}
	return entries
}

var spacer = strings.NewReplacer(",", " , ", "|", " : ", ":", " : ", "(", " ( ", ")", " ) ", "[", " ( ", "]", " ) ", "/", " / ",
	". ", " . ", ".\n", " . ", "! ", " . ", "? ", " . ", "; ", " . ", ";\n", " . ", "—", " : ", "–", " : ", "\n\n", " . ", "’", "")

var heading = regexp.MustCompile(`([A-Za-z])-([A-Z])`)

var wrapped = regexp.MustCompile(`\n[ \t\r]*([^a-z \t\r])`)

func (l *ByFields) words(text string) []found {
	var out []found
	if strings.Contains(text, "-") {
		text = heading.ReplaceAllString(text, "$1 : $2")
	}
	if strings.Contains(text, "\n") {
		text = wrapped.ReplaceAllString(text, " . $1")
	}
	text = strings.TrimRight(text, ".!? \n") + " . "
	for _, field := range strings.Fields(spacer.Replace(text)) { //nolint:modernize // this is the way that is measured
		out = append(out, l.field(field)...)
	}
	return out
}

func (l *ByFields) field(field string) []found {
	switch field {
	case ".":
		return []found{{end: true}}
	case ",":
		return []found{{word: word{mark: comma}}}
	case ":", "-":
		return []found{{word: word{mark: colon}}}
	case "(":
		return []found{{word: word{mark: paren}}}
	case ")":
		return []found{{word: word{mark: unparen}}}
	case "/":
		return []found{{word: word{mark: slash}}}
	}
	lower := strings.ToLower(field)
	if w, ok := l.entries[lower]; ok {
		return []found{{word: flagged(w, field), text: lower}}
	}
	if both, ok := l.entries[strings.ReplaceAll(lower, "-", "")]; ok && strings.Contains(lower, "-") {
		return []found{{word: both, text: lower}}
	}
	var out []found
	for i, piece := range strings.Split(field, "-") {
		mention := strings.ContainsAny(piece, "0123456789_=") || strings.ContainsAny(piece[:min(1, len(piece))], "`\"<{$#@\\")
		lower := strings.Trim(strings.ReplaceAll(strings.ToLower(piece), "'", ""), "*`\"<>{}$#@.!?;\\+%~&")
		if lower == "" {
			continue
		}
		w := flagged(l.entries[lower], strings.Trim(piece, "*"))
		if mention {
			w.flags |= opaque
		}
		if i > 0 {
			w.flags |= joined
		}
		out = append(out, found{word: w, text: lower})
	}
	return out
}

func flagged(w word, text string) word {
	if len(text) > 1 && isUpper(text[0]) && !isUpper(text[1]) {
		w.flags |= capital
	}
	switch {
	case w.id != 0:
	case strings.HasSuffix(text, "ly"):
		w.flags |= likeThis
	case strings.HasSuffix(text, "ion"), strings.HasSuffix(text, "ent"), strings.HasSuffix(text, "ing"):
		w.flags |= doing
	case strings.HasSuffix(text, "s") && !strings.HasSuffix(text, "ss"):
		w.flags |= plural
	}
	return w
}

// ByRegexps is one precompiled regular expression for each group of the lexicon.
type ByRegexps struct {
	fields *ByFields
	groups []*regexp.Regexp
}

func NewByRegexps() *ByRegexps {
	l := &ByRegexps{fields: NewByFields()}
	for _, g := range lexicon {
		var all []string
		for entry := range strings.FieldsSeq(g.words) {
			for written := range formsOf(strings.Split(entry, "/"), g.sense) {
				all = append(all, written)
			}
		}
		l.groups = append(l.groups, regexp.MustCompile(`(?i)\b(?:`+strings.Join(all, "|")+`)\b`))
	}
	return l
}

// words finds the hits of every group, and puts them where they stand.
func (l *ByRegexps) words(text string) []found {
	hits := make(map[string]word)
	for _, group := range l.groups {
		for _, at := range group.FindAllStringIndex(text, -1) {
			lower := strings.ToLower(text[at[0]:at[1]])
			hits[lower] = l.fields.entries[lower]
		}
	}
	for _, glued := range []string{"readonly", "nondestructive", "thirdparty"} {
		hits[glued] = l.fields.entries[glued]
	}
	joined := &ByFields{entries: hits}
	for k, w := range l.fields.entries { // what a hyphen or an apostrophe hides from \b
		if _, ok := hits[k]; !ok && strings.ContainsAny(text, "-'") {
			hits[k] = w
		}
	}
	return joined.words(text)
}

// InferBy is [Tool] with another way to read words.
func InferBy(l Lexer, def *mcp.Tool) annotation.Annotations {
	t := words()
	var m name
	m.cut(t, def.Name)
	r := reading{table: t}
	var s sentence
	flush := func() {
		if s.n > 0 {
			r.sentence(&s)
		}
		s.continues = s.n == longest
		s.n, s.senses = 0, 0
	}
	for _, f := range l.words(def.Description) {
		if f.end {
			flush()
			s.continues = false
			continue
		}
		if s.n == 0 && f.mark != 0 {
			continue
		}
		if f.is(particle) && s.n > 0 && s.words[s.n-1].mark == 0 && f.flags == 0 {
			prev := t.words[s.words[s.n-1].id]
			if both := *t.find(spell(prev + f.text)); prev != "" && both.is(verbs) {
				both.form, both.flags = s.words[s.n-1].form, s.words[s.n-1].flags
				s.words[s.n-1] = both
				s.senses |= both.sense
				continue
			}
		}
		s.words[s.n] = f.word
		s.n++
		if f.flags&opaque == 0 {
			s.senses |= f.sense
		}
		if s.n == longest-1 {
			s.words[longest-1] = word{}
			s.n = longest
			flush()
		}
	}
	flush()
	for _, c := range def.Description {
		r.wide = r.wide || c > 127
		if c > 127 && fold(c) <= other && fold(c) != silent {
			r.odd = true
		}
	}
	return conclude(def, &m, 0, &r)
}

// An Entry is one word of one group of the lexicon.
type Entry struct {
	Group int
	Word  string
}

// Entries lists the lexicon.
func Entries() []Entry {
	var out []Entry
	for i, g := range lexicon {
		for entry := range strings.FieldsSeq(g.words) {
			word, _, _ := strings.Cut(entry, "/")
			out = append(out, Entry{i, word})
		}
	}
	return out
}

// Without returns [Tool] with one entry taken out of the lexicon.
func Without(e Entry) func(*mcp.Tool) annotation.Annotations {
	groups := slices.Clone(lexicon)
	var kept []string
	for entry := range strings.FieldsSeq(groups[e.Group].words) {
		if word, _, _ := strings.Cut(entry, "/"); word != e.Word {
			kept = append(kept, entry)
		}
	}
	groups[e.Group].words = strings.Join(kept, " ")
	t := newTable(groups)
	return func(def *mcp.Tool) annotation.Annotations { return infer(t, def, 0) }
}

// Base returns the entry that a written form belongs to, "" for none.
func Base(written string) string { return words().words[words().find(spell(written)).id] }

// Collisions returns pairs of spellings that the table cannot tell apart.
func Collisions() []string {
	seen := make(map[spelling]string)
	var out []string
	for written := range spelled() {
		if other, ok := seen[spell(written)]; ok {
			out = append(out, written+" "+other)
		}
		seen[spell(written)] = written
	}
	return out
}
