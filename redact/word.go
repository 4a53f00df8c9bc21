package redact

import "strings"

// A quote is a quotation mark and the backslashes before it; there is none in the
// zero value.
type quote struct {
	is      bool
	mark    byte
	slashes int
}

// quoteAt is the quote that begins at a place.
func quoteAt(s string, at int) quote {
	run := runOf(s, at)
	if at += run; at < len(s) && (s[at] == '"' || s[at] == '\'' || s[at] == '`') {
		return quote{true, s[at], run}
	}
	return quote{}
}

// closedBy reports whether a quote ends what q began: the same, or one of the text
// around it.
func (q quote) closedBy(other quote) bool {
	return q.is && (other.mark == q.mark && other.slashes <= q.slashes || other.mark == '"' && other.slashes < q.slashes)
}

// enclosing is the quote right before a name that does not end behind it, as in
// 'Authorization: …'.
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

// inQuotes is where the text ends that begins with a quote: behind the quote that
// ends it, before one of the text around it, or at the end.
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

// word is where a word ends, as a shell has it: at a space, or at a sign that what is
// around the word has behind it.
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

// maxPart is how long a text in quotes within a word is.
const maxPart = 256

// ends reports whether what follows is no part of a word.
func ends(s string) bool {
	return s == "" || strings.IndexByte(" \t\r\n,;&|)]}<>\"'`\\", s[0]) >= 0
}

// balanced is where the list or object ends that begins at a place.
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
