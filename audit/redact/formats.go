package redact

// Four searches take secrets out of a text, in this order (once): private keys as whole blocks, XML elements with the
// name of a secret, values behind the name of a secret and a sign (assigned.go), and the shapes of known secrets, a row
// of the table each. A row is only tried if one of its hints is in the text, since most texts have none and a regular
// expression is slow. What was taken out may uncover more, so a text is searched until nothing changes; one that still
// changes after maxTries is taken out whole.

import (
	_ "embed" // for shapes.txt
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/lazyregexp"
)

var (
	prefixed, prefixHints = tokens()

	issued = lazyregexp.New(`(?i)(?:^|[^a-z])(?:` + strings.Join(words["issuers"], "|") + `)([ \t\w.\-]{0,20})["'\s]{0,3}` +
		`(?:=>|\|\||\?=|:{1,3}=|[=>:,])[\x60'"\s=]{0,5}([\w\-=.+/%:]{14,})`)
	// The numbers that issuers of cards give out, in one piece or in groups.
	card = lazyregexp.New(`\b(?:(?:4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|35[2-8]\d|6011|64[4-9]\d|65\d{2})(?:\d{12}|(?:[ \-]\d{4}){3})` +
		`|3[47]\d{2}(?:\d{11}|[ \-]\d{6}[ \-]\d{5})|3(?:0[0-5]|[68]\d)\d(?:\d{10}|[ \-]\d{6}[ \-]\d{4}))\b`)
	iban = lazyregexp.New(`\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b`)
)

// tokens returns the shape of what begins with a prefix, and the prefixes in plain text.
func tokens() (shape *lazyregexp.Regexp, hints []string) {
	var all []string
	for _, p := range words["prefixes"] {
		text, least, ok := strings.Cut(p, ":")
		if !ok {
			least = "16"
		}
		hints = append(hints, text)
		all = append(all, regexp.QuoteMeta(text)+`[\w\-=.+/]{`+least+`,}`)
	}
	return lazyregexp.New(`(?i)\b(?:` + strings.Join(all, "|") + `)`), hints
}

// keys holds the shapes of private keys, cut short at either end.
var keys = lazyregexp.New(`(?is)-{4,5} ?BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}.*?(?:-{4,5} ?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}|$)` +
	`|(?:[A-Za-z0-9+/=]+(?:\s|\\+[rn])+)+-{4,5} ?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}` +
	`|\bPrivate-Lines: *\d+.*?(?:Private-MAC|$)`) // PuTTY's

//go:embed shapes.txt
var shapesText string

// A row is one shape of a secret.
type row struct {
	hints []string // in small letters, one of which is in the text
	shape *lazyregexp.Regexp
	value value
}

// A value returns the place of the secret in a match, which is empty if the match is not a secret. What was taken out last
// ends at kept.
type value func(s string, m []int, kept int) (from, to int)

// table has the shapes of shapes.txt, which has a tab only between the hints and the shape, and then the tokens by
// their issuers' names, the numbers of cards and accounts by their checksum, and what is random.
var table = func() (rows []row) {
	for line := range strings.SplitSeq(shapesText, "\n") {
		if hints, shape, ok := strings.Cut(strings.TrimSuffix(line, "\r"), "\t"); ok {
			rows = append(rows, row{strings.Fields(hints), lazyregexp.New(shape), behind})
		}
	}
	digits := strings.Split("0123456789", "")
	return append(rows,
		row{prefixHints, prefixed, whole(always)},
		row{words["issuers"], issued, token},
		row{digits, card, whole(luhn)},
		row{digits, iban, whole(mod97)},
		row{digits, lazyregexp.New(`[\w+\-=]{32,}`), whole(random)})
}()

// whole returns the place of a match, if it is what it looks like.
func whole(is func(match string) bool) value {
	return func(s string, m []int, _ int) (from, to int) {
		if !is(s[m[0]:m[1]]) {
			return 0, 0
		}
		return m[0], m[1]
	}
}

func always(string) bool { return true }

// behind is the value behind the first group.
func behind(s string, m []int, _ int) (from, to int) {
	if strings.HasPrefix(s[m[3]:], Mark) || withPort.MatchString(s[m[0]:m[1]]) {
		return 0, 0
	}
	return m[3], m[1]
}

func token(s string, m []int, _ int) (from, to int) {
	if public.MatchString(s[m[2]:m[3]]) || !opaque(s[m[4]:m[5]]) {
		return 0, 0
	}
	return m[4], m[5]
}

// shapes takes out what looks like a secret, and looks again at the rest.
func shapes(s string, found func(secret string)) string {
	for range maxTries {
		clean := once(s, found)
		if clean == s {
			return s
		}
		s = clean
	}
	return Mark
}

func once(s string, found func(secret string)) string {
	s = cut(s, keys.FindAllStringIndex(s, -1), found, whole(always))
	s = elements(s, found)
	s = assigned(s, found)
	lower := strings.ToLower(strings.ToUpper(s)) // as (?i) folds, ſ and K too
	for _, row := range table {
		if slices.ContainsFunc(row.hints, func(hint string) bool { return strings.Contains(lower, hint) }) {
			s = cut(s, row.shape.FindAllStringSubmatchIndex(s, -1), found, row.value)
		}
	}
	return s
}

// withPort matches what only looks like a user and a password before a host.
var withPort = lazyregexp.New(`^https?:(?:\\*/){2}(?:localhost|\[[0-9a-f:]+\]|[\w\-]+(?:\.[\w\-]+)+):\d{1,5}\\*/[^:]*@$`)

var element = lazyregexp.New(`(?:<|\\+u003c)(/?)((?:[\w.\-]+:)?[\w.\-]+)(?:\s[^<>]*?)?(?:>|\\+u003e)`)

// elements removes the content of XML elements with the name of a secret.
func elements(s string, found func(string)) string {
	if !strings.Contains(s, "</") && !strings.Contains(s, "u003c/") {
		return s
	}
	tags, ends := element.FindAllStringSubmatchIndex(s, -1), make(map[string][]int)
	for _, m := range tags {
		if m[2] < m[3] {
			ends[s[m[4]:m[5]]] = append(ends[s[m[4]:m[5]]], m[0])
		}
	}
	return cut(s, tags, found, func(s string, m []int, _ int) (from, to int) {
		tag := s[m[4]:m[5]]
		if m[2] < m[3] || strings.HasSuffix(strings.TrimRight(s[:m[1]], `u03e\>`), "/") || !IsSecret(tag) {
			return 0, 0
		}
		if i, _ := slices.BinarySearch(ends[tag], m[1]); i < len(ends[tag]) {
			return m[1], ends[tag][i]
		}
		return 0, 0
	})
}
