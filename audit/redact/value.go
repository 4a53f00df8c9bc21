package redact

// Where does the value of a secret end? The text may be YAML, JSON, a shell command, source code, a header or prose, or
// one of these within quotes of another, with more backslashes for each level. The rules follow the sign and the first
// characters of the value: a block of indented lines, a quoted text, a list in brackets, the rest of a line, or a word
// as in a shell. If it is unclear, the value ends late: a few words too many are hidden rather than the end of a secret
// shown. All functions take the whole text and a place in it, and return a place.

import (
	"strings"

	"github.com/fairlead-go/fairlead/internal/lazyregexp"
)

var (
	// A text of several lines in YAML begins so, and any value in the lines below.
	blockScalar = lazyregexp.New(`^(?:[!&]\S*[ \t]+)*(?:[|>]|\\+u003e)[+\-0-9]*[ \t]*(?:#[^\r\n\\]*)?(?:\r?\n|\\+r\\+n|\\+n)`)
	lineBreak   = lazyregexp.New(`^(?:[!&]\S*)?[ \t]*(?:#[^\r\n\\]*)?(?:\r?\n|\\+r\\+n|\\+n)`)
	nextKey     = lazyregexp.New(`^[ \t]*["'\\]*[\w.\-]{1,64}["'\\]*\s*[:=]`)
	// A text in quotes goes on behind one of these.
	joined = lazyregexp.New(`^(?:\s*(?:[+.&]|\\\r?\n)\s*|\\*"'\\*"|)(\\*["'\x60])`)
	// The first word of a value that has two.
	scheme = lazyregexp.New(`(?i)^(?:bearer|basic|digest|negotiate|token|apikey|[&!]\S*)[ \t]+`)
)

// value returns the place of the value of a name, from a place behind the sign. If its end is unclear, it ends late.
func (n name) value(s string, at int, sign string) (from, to int) {
	from = at + len(s[at:]) - len(strings.TrimLeft(s[at:], " \t*"))
	rest := s[from:]
	colon := sign == ":" || sign == "："
	if head := blockScalar.FindString(rest); head != "" {
		return from, n.below(s, from, from+len(head), slashes(head))
	}
	if head := lineBreak.FindString(rest); head != "" {
		if sign == "" || strings.Trim(sign, "=:：＝>") != "" {
			return from, from
		}
		return from + len(head), n.below(s, from+len(head), from+len(head), slashes(head))
	}
	in := enclosing(s, n)
	p := plain(n.text)
	switch q := quoteAt(s, from); {
	case rest == "" || q.is && in.closedBy(q):
		return from, from
	case q.is:
		if joint := strings.Trim(s[from:inQuotes(s, from)], "\"'`\\"); joint == "" {
			return from, from
		}
		return from, afterQuotes(s, from, in)
	case !strings.HasPrefix(rest, Mark) && (rest[0] == '[' || rest[0] == '{'):
		return from, balanced(s, from)
	case strings.HasPrefix(rest, Mark) && quoteAt(s, n.end).is:
		return from, word(s, from, in)
	case colon && (strings.Contains(p, "authorization") || strings.Contains(p, "cookie")):
		return from, line(s, from, in, true)
	case strings.Contains(p, "phrase") || strings.Contains(p, "mnemonic"):
		return from, line(s, from, in, false)
	case n.alone(s) && (colon || sign == "=" && at > n.end+1):
		return from, line(s, from, in, false)
	case n.start > 0 && s[n.start-1] == ';' && sign == "=": // a connection string
		if n := strings.IndexAny(rest, ";\r\n\"'`"); n >= 0 {
			return from, from + n
		}
		return from, len(s)
	}
	to = word(s, from+len(scheme.FindString(rest)), in)
	if said.MatchString(s[from:to]) {
		return from, from
	}
	return from, to
}

// alone reports whether the name begins its line, in a text of several lines.
func (n name) alone(s string) bool {
	begin := strings.LastIndexByte(s[max(0, n.start-longestName):n.start], '\n') + 1
	begin += max(0, n.start-longestName)
	if begin == max(0, n.start-longestName) && begin > 0 || strings.Trim(s[begin:n.start], " \t-\"'*") != "" {
		return false
	}
	return begin > 0 || strings.IndexByte(s[n.end:], '\n') >= 0
}

// below returns where the lines end that are indented deeper than the name, or as deep in a list, and so are its
// value. Broken is the number of backslashes of a line break. Without such a line, the first counts.
func (n name) below(s string, from, at, broken int) int {
	indent, end, first := n.indent(s, broken), from, true
	for at < len(s) {
		stop, next := lineEnd(s, at, broken)
		text := strings.TrimLeft(s[at:stop], " \t")
		deep := stop - at - len(text)
		switch {
		case text == "":
		case deep > indent || deep == indent && strings.HasPrefix(text, "- "):
			end, first = stop, false
		case first && !nextKey.MatchString(text) && end == at:
			return word(s, at+deep, quote{})
		default:
			return end
		}
		if next == stop {
			break
		}
		at = next
	}
	return end
}

// indent returns how far the line of the name is indented. Broken is as for below.
func (n name) indent(s string, broken int) int {
	least := max(0, n.start-4*longestName)
	start := least + len(strings.TrimRight(s[least:n.start], `"'\`))
	begin := start
	for begin > least && s[begin-1] != '\n' && (broken == 0 || s[begin-1] != '"' && !strings.HasSuffix(s[least:begin], `\n`)) {
		begin--
	}
	return start - begin - len(strings.TrimLeft(s[begin:start], " \t-"))
}

// lineEnd returns where the line ends, and where the next begins, the same at the end.
func lineEnd(s string, at, broken int) (stop, next int) {
	for i := at; i < len(s); i++ {
		switch s[i] {
		case '\n':
			return at + len(strings.TrimSuffix(s[at:i], "\r")), i + 1
		case '"':
			if broken > 0 {
				return i, i // of the text that is in quotes
			}
		case '\\':
			run := runOf(s, i)
			switch end := i + run; {
			case broken == 0 || end == len(s):
			case s[end] == '"' && run < broken:
				return i, i
			case s[end] == 'n' && run == broken:
				return at + len(strings.TrimSuffix(s[at:i], s[i:end]+"r")), end + 1
			default:
				i++ // what is escaped
			}
			i += run - 1
		}
	}
	return len(s), len(s)
}

// runOf returns how many backslashes are at a place.
func runOf(s string, at int) int { return len(s[at:]) - len(strings.TrimLeft(s[at:], `\`)) }

// slashes is how many backslashes the line break at the end is written with.
func slashes(head string) int {
	head, escaped := strings.CutSuffix(head, "n")
	if !escaped {
		return 0
	}
	return len(head) - len(strings.TrimRight(head, `\`))
}

// line returns the end of the line, with folded lines, or of the quotes around it.
func line(s string, at int, in quote, folded bool) int {
	for i := at; i < len(s); i++ {
		switch s[i] {
		case '\r', '\n':
			next := i + 1 + len(s[i+1:]) - len(strings.TrimLeft(s[i+1:], "\n"))
			if !folded || next >= len(s) || s[next] != ' ' && s[next] != '\t' {
				return i
			}
		case '\\', '"', '\'', '`':
			if q := quoteAt(s, i); in.is && q.is && in.closedBy(q) {
				return i
			}
			i += max(runOf(s, i), 1) - 1
		}
	}
	return len(s)
}

// A quote is a quotation mark and how many backslashes are before it, by which quotes within quotes are told apart.
type quote struct {
	is      bool
	mark    byte
	slashes int
}

// quoteAt returns the quote at a place, behind its backslashes. It is the zero quote if there is none.
func quoteAt(s string, at int) quote {
	run := runOf(s, at)
	if at += run; at < len(s) && (s[at] == '"' || s[at] == '\'' || s[at] == '`') {
		return quote{true, s[at], run}
	}
	return quote{}
}

// closedBy reports whether a quote ends what q began: the same, or one of the text around it.
func (q quote) closedBy(other quote) bool {
	return q.is && (other.mark == q.mark && other.slashes <= q.slashes || other.mark == '"' && other.slashes < q.slashes)
}

// enclosing returns the quote right before a name that does not end behind it, as in 'Authorization: …'.
func enclosing(s string, n name) quote {
	if n.start == 0 {
		return quote{}
	}
	at := len(strings.TrimRight(s[:n.start-1], `\`))
	q := quoteAt(s, at)
	if at+q.slashes != n.start-1 || n.end < len(s) && quoteAt(s, n.end).mark == q.mark {
		return quote{}
	}
	return q
}

// inQuotes returns the end of a quoted text: behind its quote, before one of the text around it, or at the end.
func inQuotes(s string, at int) int {
	q := quoteAt(s, at)
	i := at + q.slashes + 1
	if triple := strings.Repeat(s[at:i], 3); strings.HasPrefix(s[at:], triple) {
		begin := at + len(triple)
		if end := strings.Index(s[begin:], triple); end >= 0 {
			return begin + end + len(triple)
		}
		return len(s)
	}
	for i < len(s) {
		switch s[i] {
		case '\\', '"', '\'', '`':
			other := quoteAt(s, i)
			switch {
			case other.is && other.mark == q.mark && other.slashes == q.slashes:
				return i + other.slashes + 1
			case other.is && q.closedBy(other):
				return i
			}
			i += max(runOf(s, i)+1, 1)
		default:
			i++
		}
	}
	return len(s)
}

// afterQuotes is [inQuotes] with what is joined to it.
func afterQuotes(s string, at int, in quote) int {
	for {
		at = inQuotes(s, at)
		next := joined.FindStringSubmatchIndex(s[at:])
		if next == nil || next[1] == next[3] && next[2] == 0 && quoteAt(s, at).mark != s[at-1] || in.closedBy(quoteAt(s, at)) {
			return word(s, at, in)
		}
		at += next[2]
	}
}

// word returns the end of a word, as in a shell: at a space, or at a closing sign of what is around it.
func word(s string, at int, in quote) int {
	for i := at; i < len(s); i++ {
		if strings.HasPrefix(s[i:], Mark) {
			if i += len(Mark); lineBreak.MatchString(s[i:]) {
				return i
			}
			i--
			continue
		}
		switch s[i] {
		case ' ', '\t', '\r', '\n':
			return i
		case '\\', '"', '\'', '`':
			q := quoteAt(s, i)
			behind := i + q.slashes + 1
			switch {
			case !q.is:
				i += runOf(s, i) // and what is escaped
			case in.closedBy(q) || ends(s[behind:]):
				return i
			case strings.IndexByte(s[behind:min(len(s), behind+maxPart)], q.mark) >= 0:
				i = inQuotes(s, i) - 1
			default:
				i = behind - 1
			}
		case ',', ';', '&', '|', ')', ']', '}', '>', '<':
			if ends(s[i+1:]) || nextKey.MatchString(s[i+1:]) || s[i] == '<' && strings.HasPrefix(s[i+1:], "/") {
				return i
			}
		case '(', '{':
			if i > at && s[i-1] == '$' {
				i = balanced(s, i) - 1
			}
		}
	}
	return len(s)
}

const maxPart = 256

// ends reports whether what follows a word ends it: the end of the text, a blank or a closing sign.
func ends(s string) bool {
	return s == "" || strings.IndexByte(" \t\r\n,;&|)]}<>\"'`\\", s[0]) >= 0
}

// balanced returns the end of what begins with a bracket: behind the one that closes it, or the end of the text.
func balanced(s string, at int) int {
	depth := 0
	for i := at; i < len(s); i++ {
		if strings.HasPrefix(s[i:], Mark) {
			i += len(Mark) - 1
			continue
		}
		switch s[i] {
		case '[', '{', '(':
			depth++
		case ']', '}', ')':
			if depth--; depth <= 0 {
				return i + 1
			}
		case '"':
			i = inQuotes(s, i) - 1
		}
	}
	return len(s)
}
