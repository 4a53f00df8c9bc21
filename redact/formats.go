package redact

import (
	_ "embed" // for shapes.txt
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	prefixed, prefixHints = tokens()

	issued = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:` + strings.Join(words["issuers"], "|") + `)([ \t\w.\-]{0,20})["'\s]{0,3}` +
		`(?:=>|\|\||\?=|:{1,3}=|[=>:,])[\x60'"\s=]{0,5}([\w\-=.+/%:]{14,})`)
	// The numbers that issuers of cards give out, in one piece or in groups.
	card = regexp.MustCompile(`\b(?:(?:4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|35[2-8]\d|6011|64[4-9]\d|65\d{2})(?:\d{12}|(?:[ \-]\d{4}){3})` +
		`|3[47]\d{2}(?:\d{11}|[ \-]\d{6}[ \-]\d{5})|3(?:0[0-5]|[68]\d)\d(?:\d{10}|[ \-]\d{6}[ \-]\d{4}))\b`)
	iban = regexp.MustCompile(`\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b`)
)

// tokens returns the shape of what begins with a prefix, and the prefixes in plain text.
func tokens() (shape *regexp.Regexp, hints []string) {
	var all []string
	for _, p := range words["prefixes"] {
		text, least, ok := strings.Cut(p, ":")
		if !ok {
			least = "16"
		}
		hints = append(hints, text)
		all = append(all, regexp.QuoteMeta(text)+`[\w\-=.+/]{`+least+`,}`)
	}
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(all, "|") + `)`), hints
}

// public ends the name of a value that may be read, whatever it looks like.
var public = regexp.MustCompile(`(?i)(?:commit|digest|etag|hash|(?:^|[ _.\-])id|image|ref|revision|sha\d*|tag|uuid|version)[ \t]*$`)

// opaque reports whether letters and digits take turns in a long run, as in no word, date or version.
func opaque(value string) bool {
	for word := range strings.FieldsFuncSeq(value, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		run, turns := []rune(word), 0
		for i := 1; i < len(run); i++ {
			if unicode.IsDigit(run[i]) != unicode.IsDigit(run[i-1]) {
				turns++
			}
		}
		if len(run) >= 8 && turns >= 2 {
			return true
		}
	}
	return false
}

func luhn(number string) bool {
	sum, second := 0, false
	for i := len(number) - 1; i >= 0; i-- {
		d := int(number[i]) - '0'
		if d < 0 || d > 9 {
			continue
		}
		if second {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum, second = sum+d, !second
	}
	return sum%10 == 0
}

// mod97 reports whether the text has the checksum of an IBAN (ISO 13616).
func mod97(account string) bool {
	account = strings.ReplaceAll(account, " ", "")
	if len(account) < 15 || len(account) > 34 {
		return false
	}
	rest := 0
	for _, c := range account[4:] + account[:4] {
		if c >= 'A' { // which stands for two digits
			rest = (100*rest + int(c-'A') + 10) % 97
		} else {
			rest = (10*rest + int(c-'0')) % 97
		}
	}
	return rest == 1
}

// keys holds the shapes of private keys, cut short at either end.
var keys = regexp.MustCompile(`(?is)-{4,5} ?BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}.*?(?:-{4,5} ?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}|$)` +
	`|(?:[A-Za-z0-9+/=]+(?:\s|\\+[rn])+)+-{4,5} ?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}` +
	`|\bPrivate-Lines: *\d+.*?(?:Private-MAC|$)`) // PuTTY's

//go:embed shapes.txt
var shapesText string

// A row is one shape of a secret.
type row struct {
	hints []string // in small letters, one of which is in the text
	shape *regexp.Regexp
	value value
}

// A value returns the place of the secret in a match, which is empty if the match is none. What was taken out last
// ends at kept.
type value func(s string, m []int, kept int) (from, to int)

// table has the shapes of shapes.txt, which has a tab only between the hints and the shape, and then the tokens by
// their issuers' names, the numbers of cards and accounts by their checksum, and what is random.
var table = func() (rows []row) {
	for line := range strings.SplitSeq(shapesText, "\n") {
		if hints, shape, ok := strings.Cut(strings.TrimSuffix(line, "\r"), "\t"); ok {
			rows = append(rows, row{strings.Fields(hints), regexp.MustCompile(shape), behind})
		}
	}
	digits := strings.Split("0123456789", "")
	return append(rows,
		row{prefixHints, prefixed, whole(always)},
		row{words["issuers"], issued, token},
		row{digits, card, whole(luhn)},
		row{digits, iban, whole(mod97)},
		row{digits, regexp.MustCompile(`[\w+\-=]{32,}`), whole(random)})
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
var withPort = regexp.MustCompile(`^https?:(?:\\*/){2}(?:localhost|\[[0-9a-f:]+\]|[\w\-]+(?:\.[\w\-]+)+):\d{1,5}\\*/[^:]*@$`)

// random reports whether a long run of letters of both cases and digits is random. Hexadecimal digests and UUIDs have
// one case.
func random(run string) bool {
	const entropy = 4.0 // bits a byte; a word of that length has less
	mixed := strings.ContainsAny(run, "0123456789") && strings.ToLower(run) != run && strings.ToUpper(run) != run
	return mixed && bits(run) >= entropy
}

func bits(run string) float64 {
	var count [256]float64
	for i := range len(run) {
		count[run[i]]++
	}
	sum := 0.0
	for _, n := range count {
		if n > 0 {
			p := n / float64(len(run))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}

var element = regexp.MustCompile(`(?:<|\\+u003c)(/?)((?:[\w.\-]+:)?[\w.\-]+)(?:\s[^<>]*?)?(?:>|\\+u003e)`)

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
